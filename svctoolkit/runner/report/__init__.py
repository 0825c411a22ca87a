"""What a run tells people and machines: texts, tables, reporters."""
