"""Learning algorithms: cross-validation tests and learning curves."""
