"""The script of a worker, and of the template that workers are forked from: `python -I -S main.py CONFIG`."""

import gc
import json
import os
import sys

gc.disable()  # until everything is imported: the collector would only pass over objects that stay
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import process  # type: ignore[import-not-found]  # noqa: E402 - a module, because bytecode of a script is not kept

process.main(json.loads(sys.argv[1]))
