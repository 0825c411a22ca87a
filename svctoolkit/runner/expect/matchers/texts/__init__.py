"""Matchers of strings."""
