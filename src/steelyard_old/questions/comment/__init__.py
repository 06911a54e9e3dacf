"""One comment on a pull request that says how it went."""
