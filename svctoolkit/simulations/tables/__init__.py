"""What a simulated vendor holds: rows in tables, in memory or on disk, and how they changed."""
