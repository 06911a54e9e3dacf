"""A run against its reference: the rule, the outcome by a number or item by item, the stopping rule, and the verdict."""
