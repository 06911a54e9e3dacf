"""What came before: the nights of a series replayed, and what the history keeps of a run."""
