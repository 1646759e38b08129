"""Who runs jobs and who runs workflows: one port for each kind, with an adapter for each manager."""
