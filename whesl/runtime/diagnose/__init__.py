"""Why a job ended: from its log alone, with the knowledge of what programs print when they fail."""
