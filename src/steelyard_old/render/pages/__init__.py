"""From a result to its page: a module for each family of results. What is said is decided here, how it is written elsewhere."""
