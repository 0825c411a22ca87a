"""Matchers of lists."""
