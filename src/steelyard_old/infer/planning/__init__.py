"""Power, assurance, and how many items they take."""
