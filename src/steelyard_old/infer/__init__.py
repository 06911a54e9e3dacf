"""How sure we are: a tally (and a metric) to an interval, a posterior, a test. NumPy and scipy.special only."""
