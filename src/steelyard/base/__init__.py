"""What every room knows: the one error, and words."""
