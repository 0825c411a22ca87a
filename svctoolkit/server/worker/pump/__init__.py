"""Settle events where they are routed, at destinations that answer at once."""
