"""Recordings of the terminal: `python -m tests.recordings` runs the commands and writes their output as SVG files."""
