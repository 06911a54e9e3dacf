"""What questions answer with: frozen values, plain to read, that keep their tally so the next question needs no data."""
