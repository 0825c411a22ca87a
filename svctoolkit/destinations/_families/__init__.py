"""Code shared by the types of one family: request formats, lookups, outcomes. One module per family."""
