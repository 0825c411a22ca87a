"""User decisions about differences: which to ignore, which are accepted, and how many are too many."""
