"""The append-only event journal: history and live stream, one writer and many readers."""
