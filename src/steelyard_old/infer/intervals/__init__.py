"""Intervals for one system: proportions, means, metrics of a table, sums, rankings; with and without groups."""
