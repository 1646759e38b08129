"""What works on specifications: canonical layout, sentences, sample lines."""
