"""What a scenario expects: matchers, differences, snapshots."""
