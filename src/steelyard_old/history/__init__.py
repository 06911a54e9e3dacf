"""The history of runs: a database that is only ever added to, SQLite in a file or PostgreSQL for a team."""
