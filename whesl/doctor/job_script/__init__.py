"""Rules held against the text of their job's script: what it prints, writes, hides and undoes."""
