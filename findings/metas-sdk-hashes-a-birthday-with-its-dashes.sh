#!/usr/bin/env bash
# Package: facebook_business 26.0.3 (Python), November 2026
#
# Meta's own SDK normalizes and hashes user data for the Conversions API. Meta asks for birthdays as YYYYMMDD.
#
# Expected: "1990-01-02" is brought into that form, as phone numbers, cities and postal codes are; or refused, as a country
#   that is not an ISO code, a mail address without a domain or a year of two digits are.
# Behaviour: any text is hashed as it is. "1990-01-02", "02.01.1990" and a time in ISO 8601 give three hashes, none of which
#   is that of "19900102". The parts dobd and dobm are padded to two digits, the whole date is not touched.
# Why it matters: the request is accepted, and the birthday never matches anybody. ISO 8601 is the form in which traits
#   of events have birthdays.
#
# Output seen:
#   1990-01-02 as it is
#   02.01.1990 as it is
#   1990-01-02T00:00:00Z as it is
#   19900102 as it is
#   phone +49 30 1234567 as 49301234567
#   country Germany is refused
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check facebook_business==26.0.3
cat > "$folder/try.py" <<'PYTHON'
from hashlib import sha256

from facebook_business.adobjects.serverside.user_data import UserData


def is_hash_of(hashed, text):
    return hashed == [sha256(text.encode()).hexdigest()]


for text in ("1990-01-02", "02.01.1990", "1990-01-02T00:00:00Z", "19900102"):
    hashed = UserData(date_of_birth=text).normalize()["db"]
    print(text, "as it is" if is_hash_of(hashed, text.lower()) or is_hash_of(hashed, text) else "changed")
hashed = UserData(phone="+49 30 1234567").normalize()["ph"]
print("phone +49 30 1234567", "as 49301234567" if is_hash_of(hashed, "49301234567") else "otherwise")
try:
    UserData(country_code="Germany").normalize()
    print("country Germany is accepted")
except TypeError:
    print("country Germany is refused")
PYTHON
"$folder/venv/bin/python" "$folder/try.py" | tee "$folder/out"
diff "$folder/out" - <<'OUT'
1990-01-02 as it is
02.01.1990 as it is
1990-01-02T00:00:00Z as it is
19900102 as it is
phone +49 30 1234567 as 49301234567
country Germany is refused
OUT
