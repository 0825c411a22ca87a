"""Which destinations, fields and lines of transformations the scenarios cover."""
