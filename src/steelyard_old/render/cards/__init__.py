"""Model cards: what was measured, in the forms in which others keep it."""
