"""Where rows come from: files and frames, by one DuckDB."""
