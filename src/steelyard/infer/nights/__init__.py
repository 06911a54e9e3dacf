"""A run every night: each held against all nights before it, and evidence that adds up to a few false alarms a year."""
