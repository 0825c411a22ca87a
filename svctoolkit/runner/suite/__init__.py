"""Suite files: loading and checking them, their variables, fixtures and cases, and the selection of scenarios."""
