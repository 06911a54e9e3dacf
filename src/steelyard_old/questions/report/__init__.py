"""Results as a page, a model card, or a record for other tools."""
