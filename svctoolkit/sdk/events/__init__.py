"""From a call to a stored event: options, identity, context, JSON."""
