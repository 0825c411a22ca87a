"""Matchers of any value: what it is, where it is, whether it is there."""
