"""Shared parts of explorers: controls, background work, style."""
