"""Many guards, one verdict."""
