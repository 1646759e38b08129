"""A site's own weeks again, under other policies and predictors: what would have been saved."""
