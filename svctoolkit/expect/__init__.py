"""Expectations of scenarios: matchers, differences, snapshots."""
