"""Files by format: delimited, JSON, Parquet; packed or not; checked byte by byte."""
