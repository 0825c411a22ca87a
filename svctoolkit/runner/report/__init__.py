"""Reports of a run: texts, tables, reporters."""
