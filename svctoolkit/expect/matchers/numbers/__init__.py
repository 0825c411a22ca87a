"""Matchers of numbers, and of times, which compare the same way."""
