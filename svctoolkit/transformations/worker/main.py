"""The script of a worker, and of the template that workers are forked from: `python -I -S main.py CONFIG`."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import process  # type: ignore[import-not-found]  # in this folder; a script's bytecode is never kept

process.main(json.loads(sys.argv[1]))
