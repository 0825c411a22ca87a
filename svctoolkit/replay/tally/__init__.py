"""The results of chunks: outcomes, differences, counts, rows, and the folder that stores them."""
