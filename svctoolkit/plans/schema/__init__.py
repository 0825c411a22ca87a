"""JSON Schema with the semantics of the service's validator: what it refuses, what it reports, in which words.

`compiler` makes closures of a schema, `strictness` says what the service refuses. Both are loaded when first needed.
"""
