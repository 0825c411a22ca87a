"""The results of a replay, and how they are displayed."""
