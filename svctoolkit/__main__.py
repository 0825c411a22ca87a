"""`python -m svctoolkit` is `svctoolkit`."""

from __future__ import annotations

import sys

from svctoolkit.cli import main

sys.exit(main())
