"""Each job runs plain and wrapped, side by side, and what became of both is compared."""
