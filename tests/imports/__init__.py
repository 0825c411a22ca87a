"""Tests of `svctoolkit import`, `sync` and the workflows that they write."""
