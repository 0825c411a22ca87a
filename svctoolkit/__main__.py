"""`python -m svctoolkit` is `svctoolkit`."""

from __future__ import annotations

import sys

from svctoolkit.cli import main

status = main()
# After an interrupt in code compiled from a string (as dataclasses are), CPython exits with 130 unless more of it runs.
eval("0")
sys.exit(status)
