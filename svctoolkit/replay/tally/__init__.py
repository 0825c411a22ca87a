"""What came of chunks: outcomes and differences, numbers, rows, and the folder that keeps them."""
