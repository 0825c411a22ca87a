"""From a call to a stored event: options, identity, context, the text on the wire."""
