"""Evaluate a model now, and stop as soon as the question is decided."""
