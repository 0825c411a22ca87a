"""JSON Schema with the semantics of RudderStack's validator: what it rejects, what it reports, in the same words.

`compiler` turns a schema into closures, `strictness` lists what RudderStack rejects. Both are loaded on first use.
"""
