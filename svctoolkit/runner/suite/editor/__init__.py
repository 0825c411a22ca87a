"""The JSON Schema of suites for editors."""
