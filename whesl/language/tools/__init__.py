"""Tools for specifications: canonical layout, sentences, sample lines."""
