"""Matchers that combine other expectations."""
