"""The stored form of notebooks: no outputs, no execution counts, one line of source per line of the file.

`python -m tests.notebooks.normal` restores this form after editing in JupyterLab, so that changes can be reviewed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"), key=lambda notebook: int(notebook.name.partition("_")[0]))
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def normal(text: str) -> str:
    """Return the same notebook in its stored form."""
    made = {"cells": [_cell(cell) for cell in json.loads(text)["cells"]], "metadata": _METADATA}
    made |= {"nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    made = {"cell_type": cell["cell_type"], "id": cell["id"], "metadata": {}}
    made["source"] = "".join(cell["source"]).splitlines(keepends=True)
    return made | ({"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {})


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        notebook.write_text(normal(notebook.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
