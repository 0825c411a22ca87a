"""Benchmarks: `python -m tests.benchmarks [NAME...]`.

Each module is a benchmark with a `run(options)` that yields its figures (see `_figures`) as they are measured.
"""
