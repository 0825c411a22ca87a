"""Matchers of objects and their members."""
