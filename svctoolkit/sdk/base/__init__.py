"""What everything in the client stands on: settings, values as JSON, what is told, process and threads."""
