"""Mutation tests: a sample of small changes to a module, each run against the tests for that module.

`python -m tests.mutants svctoolkit/pipeline/run.py`

prints every change that no test detects, and the share of detected ones. A change that hangs counts as detected.
"""
