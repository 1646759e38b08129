"""Published predictions about nodes, and decisions from them; only ``risk_table`` touches files."""
