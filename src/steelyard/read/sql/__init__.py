"""Results that stay on an engine: one portable SQL text for DuckDB, PostgreSQL, SQLite and Spark, and only tallies travel."""
