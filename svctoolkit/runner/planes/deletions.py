"""The deletions of a regulation, in the form that expectations use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.json_types import Json


# Any: JSON of a regulation, as `/inspect/regulations` shows it
def deletions_of(regulation: Mapping[str, Any]) -> dict[str, dict[str, Json]]:
    """Return the jobs of a regulation by destination, with the requests of all of their tries."""
    return {
        job["destination"]: {
            "status": job["status"],
            "error": job["tries"][-1]["error"] if job["tries"] else "",
            "tries": [{"status": one["status"], "error": one["error"]} for one in job["tries"]],
            "requests": [request for one in job["tries"] for request in one["requests"]],
        }
        for job in regulation["jobs"]
    }
