"""A code editor for explorers with colours, line numbers, error marks and completion, or a text area as fallback."""
