"""Files beyond a single call: written whole, or reached where another user may have put them."""
