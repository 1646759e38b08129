"""Writers of the lab's results: Parquet, JSON, Markdown, CSV, SVG, PNG and HTML. Writes are atomic."""
