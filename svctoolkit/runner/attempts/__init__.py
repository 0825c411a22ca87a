"""Run one scenario: its steps and their outcomes."""
