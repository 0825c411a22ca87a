"""Suites as files: what they say, checked, with their variables, fixtures and cases; which scenarios are chosen."""
