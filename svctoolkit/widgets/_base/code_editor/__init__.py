"""A code editor for explorers: colours, line numbers, marks at errors, completion; a text area where it cannot be."""
