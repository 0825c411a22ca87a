"""Would the tests notice? A sample of small changes to a module, each tried against the tests that are about it.

    python -m tests.mutants svctoolkit/pipeline/run.py

prints every change that no test noticed, and the share that was noticed. A change that hangs counts as noticed.
"""
