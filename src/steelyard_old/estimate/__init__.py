"""From a tally and a metric to a row or the evidence of a comparison: which method applies, what to fall back to, and what to warn of."""
