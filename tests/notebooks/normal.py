"""The stored form of notebooks: outputs without widgets and scripts, one line of source per line of the file.

`python -m tests.notebooks.normal` restores this form after editing in JupyterLab, so that changes can be reviewed.
`python -m tests.notebooks.record` runs the notebooks and stores their outputs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"), key=lambda notebook: int(notebook.name.partition("_")[0]))
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_STORED = ("image/png", "text/html", "text/markdown", "text/plain")
_SCRIPT = re.compile(r"<script\b.*?</script>", re.S)
_STYLE = re.compile(r"<style>.*?</style>", re.S)


def normal(text: str) -> str:
    """Return the same notebook in its stored form."""
    styles: set[str] = set()
    numbers = iter(range(1, 1000))
    cells = [_cell(cell, styles, numbers) for cell in json.loads(text)["cells"]]
    made = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _cell(cell: dict[str, Any], styles: set[str], numbers: Iterator[int]) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": cell["cell_type"], "id": cell["id"], "metadata": {}}
    made["source"] = _lines(cell["source"])
    if cell["cell_type"] != "code":
        return made
    number = next(numbers)
    return made | {"execution_count": number, "outputs": [*_outputs(cell["outputs"], styles, number)]}


def _outputs(outputs: Iterable[dict[str, Any]], styles: set[str], number: int) -> Iterator[dict[str, Any]]:
    """The outputs with what is not empty; parts of a stream are one. Each style is stored once per notebook."""
    for output in _joined(outputs):
        if output["output_type"] == "stream":
            yield {"name": output["name"], "output_type": "stream", "text": _lines(output["text"])}
            continue
        data = {kind: "".join(output["data"][kind]) for kind in _STORED if kind in output["data"]}
        if "text/html" in data:
            data["text/html"] = _without_repeated_styles(_SCRIPT.sub("", data["text/html"]), styles)
        if any(data.values()) and data.get("text/html") != "":  # else a progress bar that has been removed
            stored = {kind: text if kind == "image/png" else _lines(text) for kind, text in data.items()}
            count = {"execution_count": number} if output["output_type"] == "execute_result" else {}
            yield {"data": stored, "metadata": {}, "output_type": output["output_type"], **count}


def _joined(outputs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    joined: list[dict[str, Any]] = []
    for output in outputs:
        if joined and output.get("name") is not None and joined[-1].get("name") == output["name"]:
            joined[-1] = {**joined[-1], "text": "".join(joined[-1]["text"]) + "".join(output["text"])}
        else:
            joined.append(output)
    return joined


def _without_repeated_styles(html: str, styles: set[str]) -> str:
    def once(found: re.Match[str]) -> str:
        if found[0] in styles:
            return ""
        styles.add(found[0])
        return found[0]

    return _STYLE.sub(once, html)


def _lines(text: str | Sequence[str]) -> list[str]:
    return "".join(text).splitlines(keepends=True)


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        notebook.write_text(normal(notebook.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
