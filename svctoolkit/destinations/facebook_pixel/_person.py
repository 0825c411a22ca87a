"""Who the person is, in Facebook's keys and in its order."""

from __future__ import annotations

from typing import Any

from svctoolkit.mapping import (
    CITY,
    COUNTRY,
    FIRST_NAME,
    IP,
    LAST_NAME,
    POSTAL_CODE,
    STATE,
    USER_ID,
    Table,
    converter,
    first,
    hash_initial,
    hash_lower,
    hash_phone,
    hash_trimmed,
    sha256,
    string,
    trait,
)


@converter
def hash_joined(value: Any) -> str:
    """Places in lower case without spaces."""
    return sha256("".join(string.of(value).lower().split()))


ID = first(USER_ID, "anonymousId")
# not PHONE and EMAIL: what stands in the properties is sent there, or kept back there
ADDRESS = trait("email")
PHONE = trait("phone")
GENDER = trait("gender")
BIRTHDAY = trait("birthday", "dob")

HASHED = Table(
    {
        "external_id": hash_trimmed(ID),
        "em": hash_lower(ADDRESS),
        "ph": hash_phone(PHONE),
        "ge": hash_initial(GENDER),
        "db": hash_phone(BIRTHDAY),
        "ln": hash_trimmed(LAST_NAME),
        "fn": hash_trimmed(FIRST_NAME),
        "ct": hash_joined(CITY),
        "st": hash_joined(STATE),
        "zp": hash_joined(POSTAL_CODE),
        "country": hash_joined(COUNTRY),
    }
)
PLAIN = Table(
    {
        "external_id": ID,
        "em": ADDRESS,
        "ph": PHONE,
        "ge": GENDER,
        "db": BIRTHDAY,
        "ln": LAST_NAME,
        "fn": FIRST_NAME,
        "ct": CITY,
        "st": STATE,
        "zp": POSTAL_CODE,
        "country": COUNTRY,
    }
)
TOLD = Table(
    {
        "client_ip_address": IP,
        "client_user_agent": "context.userAgent",
        "fbc": first("context.fbc", "properties.fbc"),
        "fbp": first("context.fbp", "properties.fbp"),
        "fb_login_id": "context.fb_login_id",
        "lead_id": "context.lead_id",
    }
)
