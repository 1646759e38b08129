"""Lines with known texts are found in whole blocks of bytes, and lines of storms passed over."""
