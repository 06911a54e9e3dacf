"""Claims about intervals: how often they contain the truth."""
