"""What one event becomes: tables, columns, values, and what of it is lost on the way."""
