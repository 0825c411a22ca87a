"""The rows of the Test API specification as a check of any server with a Test API.

report = conform("https://api.example.com", "dev@example.com", token, Targets("1aIXqM", source="1bKqLm"))
assert report.ok, report
"""

from __future__ import annotations

from svctoolkit.client.conformance._api import Targets
from svctoolkit.client.conformance._report import Conformance, Row, conform

__all__ = ["Conformance", "Row", "Targets", "conform"]
