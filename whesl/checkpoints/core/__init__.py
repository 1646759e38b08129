"""The pure core of prioritized checkpointing."""
