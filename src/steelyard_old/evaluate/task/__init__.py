"""A task: its data, its prompts, and the order in which items are asked."""
