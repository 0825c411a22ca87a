#!/usr/bin/env bash
# Package: dlt 1.31.0 with duckdb 2.0.1 (Python), November 2026
#
# Events are loaded that have both `userId` and `user_id`: one is the SDK's, the other a property of the application. dlt
# names columns in snake case.
#
# Expected: two columns (as for a changed type, where a second column appears), or an error about the name.
# Behaviour: one column `user_id`, without a message. It has the value of the member that comes last in the JSON object, so
#   the same two values in another order load another user. A flat member `traits__plan` disappears in the same way: the
#   nested `traits.plan` takes its column, even where the flat one comes later.
# Why it matters: the order of members is an accident of the client's language, so two SDKs fill one column from different
#   members, and joins on user ids mix two kinds of id.
#
# Output seen:
#   [{'id': 'a', 'user_id': 'from-the-app'}, {'id': 'b', 'user_id': 'from-the-sdk'}]
#   [{'id': 'a', 'traits__plan': 'nested'}]
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


def loaded(name, events):
    target = dlt.destinations.duckdb(f"{folder}/{name}.duckdb")
    pipeline = dlt.pipeline(name, destination=target, dataset_name="events", pipelines_dir=f"{folder}/pipelines")
    pipeline.run(events, table_name="orders")
    with pipeline.sql_client() as client, client.execute_query("select * from orders order by id") as query:
        columns = [column[0] for column in query.description]
        rows = [dict(zip(columns, row)) for row in query.fetchall()]
    return [{name: value for name, value in row.items() if not name.startswith("_dlt")} for row in rows]


sdk, app = "from-the-sdk", "from-the-app"
print(loaded("ids", [{"id": "a", "userId": sdk, "user_id": app}, {"id": "b", "user_id": app, "userId": sdk}]))
print(loaded("plans", [{"id": "a", "traits": {"plan": "nested"}, "traits__plan": "flat"}]))
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder" 2>"$folder/err" | tee "$folder/out" || { cat "$folder/err"; exit 1; }
diff "$folder/out" - <<'OUT'
[{'id': 'a', 'user_id': 'from-the-app'}, {'id': 'b', 'user_id': 'from-the-sdk'}]
[{'id': 'a', 'traits__plan': 'nested'}]
OUT
