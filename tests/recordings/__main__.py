"""Write the recordings, and the diagram."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.recordings.diagram import DIAGRAMS
from tests.recordings.sessions import FOLDER, SESSIONS, pictures

for name in SESSIONS:
    with tempfile.TemporaryDirectory() as folder:
        for file, text in pictures(name, Path(folder)).items():
            (FOLDER / file).write_text(text, encoding="utf-8")
for name, diagram in DIAGRAMS.items():
    (FOLDER / name).write_text(diagram(), encoding="utf-8")
