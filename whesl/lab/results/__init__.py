"""Results of the lab: Parquet, JSON, Markdown, CSV, SVG, PNG and one page. Each file is whole or absent."""
