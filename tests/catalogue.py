"""The definitions of the destination types, read once for all tests of a process."""

from __future__ import annotations

from functools import cache

from svctoolkit import destinations

examples = cache(destinations.examples)
batch_examples = cache(destinations.batch_examples)
outcome_examples = cache(destinations.outcome_examples)
