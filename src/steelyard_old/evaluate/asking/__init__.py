"""Asking many items at once: workers, deadlines, the journal, progress, and the summary of answers."""
