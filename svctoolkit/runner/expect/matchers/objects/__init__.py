"""Matchers of the members of an object."""
