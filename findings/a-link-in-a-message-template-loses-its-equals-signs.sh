#!/usr/bin/env bash
# Packages: handlebars 4.7.10 (npm) and pybars3 0.9.7 (Python), November 2026
#
# Messages to chats are often templates such as "{{name}} bought {{url}}", rendered by Handlebars, with values of events.
#
# Expected: what HTML needs is escaped (& < > and quotes); the Python port of the same language renders the same text.
# Behaviour: Handlebars also replaces each `=` by `&#x3D;`, so every link with a query changes; the port does not. The port
#   prints 10.0 where JavaScript prints 10, and a list as Python shows it.
# Why it matters: a chat that decodes only &amp; &lt; &gt; shows "?id&#x3D;7", and the link is dead. A template that was
#   tested with the port says nothing about what is sent. Write {{{url}}} for links.
#
# Output seen:
#   handlebars: https://shop.example/?id&#x3D;7&amp;utm&#x3D;mail | 10 | a,b
#   pybars3: https://shop.example/?id=7&amp;utm=mail | 10.0 | [&#x27;a&#x27;, &#x27;b&#x27;]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pybars3==0.9.7
(cd "$folder" && npm install --silent --no-audit --no-fund handlebars@4.7.10 >/dev/null)
cat > "$folder/event.json" <<'JSON'
{"url": "https://shop.example/?id=7&utm=mail", "total": 10.0, "items": ["a", "b"]}
JSON
echo '{{url}} | {{total}} | {{items}}' > "$folder/template"
cat > "$folder/try.js" <<'JS'
const fs = require("fs"), handlebars = require("handlebars")
const event = JSON.parse(fs.readFileSync("event.json")), template = fs.readFileSync("template", "utf8").trim()
console.log("handlebars: " + handlebars.compile(template)(event).trim())
JS
cat > "$folder/try.py" <<'PYTHON'
import json
from pathlib import Path

from pybars import Compiler

event = json.loads(Path("event.json").read_text())
print(f"pybars3: {Compiler().compile(Path('template').read_text().strip())(event)}".strip())
PYTHON
(cd "$folder" && node try.js && venv/bin/python -W ignore try.py) | tee "$folder/out"
diff "$folder/out" - <<'OUT'
handlebars: https://shop.example/?id&#x3D;7&amp;utm&#x3D;mail | 10 | a,b
pybars3: https://shop.example/?id=7&amp;utm=mail | 10.0 | [&#x27;a&#x27;, &#x27;b&#x27;]
OUT
