"""Record received events as a suite."""
