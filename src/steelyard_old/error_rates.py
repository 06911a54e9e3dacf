"""The error rates that count where nobody says others: false alarms, misses, and what is found of real drops."""

from __future__ import annotations

ALPHA = 0.05
BETA = 0.2
POWER = 1 - BETA
