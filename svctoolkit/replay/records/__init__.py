"""How an input is cut into chunks, and how records become events."""
