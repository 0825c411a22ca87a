"""The Test API: one event through the stages, and the destination definitions (specification test-api.md)."""
