"""How fast it is: `python -m tests.benchmarks [NAME...]`. One module per benchmark, with `run()` giving its lines."""
