"""Matchers of any value: its type, its place, its presence."""
