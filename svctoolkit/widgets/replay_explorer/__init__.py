"""Outcomes of many events: groups, their events, and the stages and lineage of each."""
