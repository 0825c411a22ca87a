"""What became of many events: groups, their events, each one's stages and lineage."""
