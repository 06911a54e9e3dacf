"""Everything we claim about coverage, error rates and precision, declared, recomputed and checked against its band."""
