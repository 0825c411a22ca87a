"""Run the notebooks, all or some, and store their outputs: `python -m tests.notebooks.record [NUMBER...]`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.notebooks.normal import FOLDER, NOTEBOOKS, normal


def record(notebook: Path, folder: Path) -> None:
    """Run a notebook in `folder`, a copy of theirs, and store it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    node = nbformat.read(notebook, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(node, timeout=300, kernel_name="python3", resources=resources, store_widget_state=False).execute()
    notebook.write_text(normal(nbformat.writes(node)), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        copied = Path(temporary) / "notebooks"
        shutil.copytree(FOLDER, copied)
        for each in NOTEBOOKS:
            if len(sys.argv) == 1 or each.name.partition("_")[0] in sys.argv[1:]:
                record(each, copied)
