"""A site's own history: what is read of it, what is fitted to it, and how good that is."""
