"""HTTP for every route: access control, JSON in and out, errors, threads, the documentation of the operations."""
