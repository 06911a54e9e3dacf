"""Put a run on record as the reference."""
