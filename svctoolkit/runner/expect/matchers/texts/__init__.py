"""Matchers of texts."""
