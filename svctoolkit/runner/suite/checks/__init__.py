"""Checks of a suite and its scenarios that a schema cannot express."""
