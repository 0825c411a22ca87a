"""Loads rows into an embedded DuckDB by the rules of RudderStack's loader:

staged rows -> schema of the upload -> DDL -> values that fit their columns, and discards -> merge or append
"""
