"""Options of each command, declared once: flags, keywords and lines of docstrings follow from them."""
