"""Turns one event into tables, columns and values, and records what is lost on the way."""
