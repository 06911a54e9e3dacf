"""Posterior distributions of metrics and of differences."""
