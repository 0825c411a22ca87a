"""How fast it is: `python -m tests.benchmarks [NAME...]`.

One module per benchmark, with a `run(options)` that gives its figures (see `_figures`) as they are measured.
"""
