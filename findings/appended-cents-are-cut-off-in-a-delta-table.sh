#!/usr/bin/env bash
# Package: deltalake 1.6.6 with pyarrow 26.0.1 (Python), November 2026
#
# A table of orders starts on a day when all revenues are whole numbers, so its column becomes int64. The next day's
# orders have cents, and are appended.
#
# Expected: an error about the type, as for texts; or, with schema_mode="merge", a column of doubles.
# Behaviour: without an error or a warning, 12.49 and 12.99 are stored as 12, in both modes. Texts that are not numbers
#   raise. Texts "yes" and "no" appended to a boolean column become true and false.
# Why it matters: sums of revenue are wrong by up to one unit for each order, and the original values are not kept anywhere.
#   Declare the column as double before the first day, and compare sums with the source.
#
# Output seen:
#   append: [12, 12, 12]
#   merge: [12, 12, 12]
#   boolean: [True, True, False]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check deltalake==1.6.6 pyarrow==26.0.1
cat > "$folder/try.py" <<'PYTHON'
import sys

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

folder = sys.argv[1]


def appended(name, column, first, later, **options):
    path = f"{folder}/{name}"
    write_deltalake(path, pa.table({"id": [0], column: first}))
    write_deltalake(path, pa.table({"id": list(range(1, len(later) + 1)), column: later}), mode="append", **options)
    rows = DeltaTable(path).to_pyarrow_table().sort_by("id").to_pylist()
    return [row[column] for row in rows]


print("append:", appended("plain", "revenue", [12], [12.49, 12.99]))
print("merge:", appended("merge", "revenue", [12], [12.49, 12.99], schema_mode="merge"))
print("boolean:", appended("flag", "subscribed", [True], ["yes", "no"]))
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder" | tee "$folder/out"
diff "$folder/out" - <<'OUT'
append: [12, 12, 12]
merge: [12, 12, 12]
boolean: [True, True, False]
OUT
