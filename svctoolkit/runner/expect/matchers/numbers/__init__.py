"""Matchers of numbers, and of times, which compare alike."""
