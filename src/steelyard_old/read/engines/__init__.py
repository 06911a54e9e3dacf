"""Tables that stay where they are: DuckDB, SQL databases, Spark; grouped and joined there."""
