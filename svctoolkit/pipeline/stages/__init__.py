"""The stages. Each knows nothing of the others, of results, or of who is reading."""
