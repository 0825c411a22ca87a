"""Matchers of encoded texts."""
