"""The runs so far, and whether they drift."""
