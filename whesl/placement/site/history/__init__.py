"""A site's own history: reading it, fitting predictors to it, and scoring them."""
