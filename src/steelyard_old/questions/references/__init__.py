"""The references on record: list, show, lint, import, change."""
