"""From the text of a specification to checked statements, with diagnostics."""
