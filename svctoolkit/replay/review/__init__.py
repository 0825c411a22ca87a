"""What people say of differences: which do not matter, which are right, and how many are too many."""
