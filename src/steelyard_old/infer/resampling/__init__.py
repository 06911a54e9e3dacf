"""Intervals from redrawn values, and how much may be drawn."""
