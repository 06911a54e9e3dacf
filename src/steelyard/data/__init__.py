"""Rows: items as columns with counts, how they belong together, two runs side by side."""
