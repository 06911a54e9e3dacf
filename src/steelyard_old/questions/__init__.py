"""Choice: each question reads, counts, picks the methods and assembles the answer. No formulas here."""
