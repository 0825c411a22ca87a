#!/usr/bin/env bash
# Package: dlt 1.31.0 with duckdb 2.0.1 (Python), November 2026
#
# The first event has the postal code 10115 as a number, as an old client sends it. Later events send texts.
#
# Expected: a second column for texts, as dlt makes one for fractions after whole numbers (`revenue__v_double`).
# Behaviour: a text that looks like a whole number is stored as that number in the first column, without a message: "01067"
#   becomes 1067, and " 42" becomes 42. Only texts that are not numbers get the column `zip__v_text`. After a boolean, the
#   text "yes" becomes true.
# Why it matters: the codes of one country are spread over two columns, some of them changed, and joins with a list of codes
#   fail for exactly the places that begin with zero. The same happens to order numbers.
#
# Output seen:
#   [('a', 10115, None), ('b', 1067, None), ('c', None, 'SW1A 1AA'), ('d', 42, None)]
#   [('a', True), ('b', True)]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check dlt==1.31.0 duckdb==2.0.1
cat > "$folder/try.py" <<'PYTHON'
import os
import sys

folder = os.environ["DLT_DATA_DIR"] = sys.argv[1]
os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}

import dlt


def loaded(name, batches, columns):
    target = dlt.destinations.duckdb(f"{folder}/{name}.duckdb")
    pipeline = dlt.pipeline(name, destination=target, dataset_name="events", pipelines_dir=f"{folder}/pipelines")
    for events in batches:
        pipeline.run(events, table_name="orders")
    with pipeline.sql_client() as client, client.execute_query(f"select {columns} from orders order by id") as query:
        return query.fetchall()


later = [{"id": "b", "zip": "01067"}, {"id": "c", "zip": "SW1A 1AA"}, {"id": "d", "zip": " 42"}]
print(loaded("codes", [[{"id": "a", "zip": 10115}], later], "id, zip, zip__v_text"))
print(loaded("flags", [[{"id": "a", "vip": True}], [{"id": "b", "vip": "yes"}]], "id, vip"))
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder" 2>"$folder/err" | tee "$folder/out" || { cat "$folder/err"; exit 1; }
diff "$folder/out" - <<'OUT'
[('a', 10115, None), ('b', 1067, None), ('c', None, 'SW1A 1AA'), ('d', 42, None)]
[('a', True), ('b', True)]
OUT
