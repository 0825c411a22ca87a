"""Deletions: the requests with which a destination type asks its vendor to delete users, and what the answers mean."""
