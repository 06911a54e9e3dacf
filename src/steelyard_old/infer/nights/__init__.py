"""A run every night: each compared with all nights before it, and evidence that adds up to a few false alarms a year."""
