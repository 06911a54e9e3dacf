"""Everything we claim about coverage, error rates and precision, declared, recomputed and held against its band."""
