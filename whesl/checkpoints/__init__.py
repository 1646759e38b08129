"""Prioritized checkpointing (p-ckpt): the node about to fail writes its checkpoint first."""
