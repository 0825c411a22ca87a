"""HTTP for every route: who may ask, JSON in and out, errors, threads, the documentation of the operations."""
