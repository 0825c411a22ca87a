"""The web page of a data plane: live events, event timelines, faults and switches. Plain modules, no dependencies."""
