"""A page for people: events as they arrive, their way, faults and switches. Plain modules, nothing from outside."""
