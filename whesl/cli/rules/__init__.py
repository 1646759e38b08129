"""Commands about specifications."""
