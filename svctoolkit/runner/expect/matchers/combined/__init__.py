"""Matchers made of other expectations."""
