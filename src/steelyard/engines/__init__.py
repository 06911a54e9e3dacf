"""Certainty: a few ways to be sure of any metric under any design."""
