"""HOW it looks: result -> text, markdown, json. Nothing here computes a statistic; it chooses digits and places them."""
