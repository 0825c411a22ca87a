"""Every rule that has an effect, on both sides of its bound: the first requests break it, the second do not."""

from __future__ import annotations

from typing import Any

import pytest

from svctoolkit import simulations
from svctoolkit.simulations import SIMULATIONS
from tests.simulations import (
    bounds_am,
    bounds_crm,
    bounds_customerio,
    bounds_ga4,
    bounds_hs,
    bounds_intercom,
    bounds_iterable,
    bounds_mailchimp,
    bounds_meta,
    bounds_small,
)
from tests.simulations.bounds import NOW, SECONDS, Case, Requests, each, numbered

CONFIGS: dict[str, dict[str, Any]] = {
    "MP": {"token": "t1", "strictMode": True},
    "KLAVIYO": {"privateApiKey": "k1"},
    "BRAZE": {"restApiKey": "k1", "dataCenter": "US-01"},
    "GA4": bounds_ga4.CONFIG,
    "AM": bounds_am.CONFIG,
    "FACEBOOK_PIXEL": bounds_meta.CONFIG,
    "CUSTOMERIO": bounds_customerio.CONFIG,
    "HS": bounds_hs.CONFIG,
    "INTERCOM": bounds_intercom.CONFIG,
    "ITERABLE": bounds_iterable.CONFIG,
    "MAILCHIMP": bounds_mailchimp.CONFIG,
    **bounds_crm.CONFIGS,
    **bounds_small.CONFIGS,
}
#: rules that say how something is answered or kept; they lose nothing
QUIET = ("kept", "answer", "ignored", "unsure")


def mp(*events: dict[str, Any], headers: dict[str, str] | None = None, **properties: Any) -> Requests:
    """Import one event with these properties, or several events."""
    usual = {"time": SECONDS - 60, "distinct_id": "u1", "$insert_id": "i-1"}
    records = [{"event": "A", "properties": {**usual, **each}} for each in (events or (properties,))]
    return lambda server: server.answer("POST", "https://api.mixpanel.com/import/?strict=1", headers, records)


def engage(*updates: dict[str, Any]) -> Requests:
    records = [{"$token": "t1", "$distinct_id": "u1", "$set": {"n": 1}, **update} for update in updates]
    return lambda server: server.answer("POST", "https://api.mixpanel.com/engage/?verbose=1", None, records)


def mp_delete(count: int) -> Requests:
    url, body = "https://mixpanel.com/api/app/data-deletions/v3.0", {"distinct_ids": ["u"] * count}
    return lambda server: server.answer("POST", url, None, body)


def original(*ids: str) -> Requests:
    record = {"event": "$merge", "properties": {"$distinct_ids": list(ids)}}
    return lambda server: server.answer("POST", "https://api.mixpanel.com/import/?strict=1", None, [record])


def alias(**properties: str) -> Requests:
    record = {"event": "$create_alias", "properties": properties}
    return lambda server: server.answer("POST", "https://api.mixpanel.com/import/?strict=1", None, [record])


def kl(path: str = "events", method: str = "POST", headers: dict[str, str] | None = None, **data: Any) -> Requests:
    return lambda server: server.answer(method, f"https://a.klaviyo.com/api/{path}", headers, {"data": data})


def kl_event(profile: dict[str, Any] | None = None, metric: str = "A", **attributes: Any) -> Requests:
    person = {"email": "ada@shop.example"} if profile is None else profile
    named = {"data": {"type": "metric", "attributes": {"name": metric}}}
    return kl(
        attributes={"metric": named, "profile": {"data": {"attributes": person}}, "unique_id": "m1", **attributes}
    )


def kl_profile(path: str = "profile-import", **attributes: Any) -> Requests:
    return kl(path, attributes=attributes)


def kl_subscribe(*profiles: dict[str, Any], kind: str = "create", list_id: str = "news", **more: Any) -> Requests:
    listed = {"list": {"data": {"id": list_id}}}
    data = [{"attributes": {"email": "ada@shop.example", **profile}} for profile in profiles or ({},)]
    return kl(
        f"profile-subscription-bulk-{kind}-jobs", attributes={"profiles": {"data": data}, **more}, relationships=listed
    )


def bz(
    path: str = "users/track", headers: dict[str, str] | None = None, host: str = "rest.iad-01.braze.com", **body: Any
) -> Requests:
    return lambda server: server.answer("POST", f"https://{host}/{path}", headers, body)


def bz_event(**event: Any) -> Requests:
    good = {"external_id": "u1", "name": "A", "time": "2026-08-06T09:00:00Z"}
    return bz(events=[good, {**good, **event}])


def bz_purchase(**purchase: Any) -> Requests:
    good = {"external_id": "u1", "product_id": "p", "currency": "USD", "price": 1, "time": "2026-08-06T09:00:00Z"}
    return bz(purchases=[{**good, **purchase}])


def bz_user(**attributes: Any) -> Requests:
    return bz(attributes=[{"external_id": "u1", **attributes}])


def bz_alias(name: str) -> dict[str, str]:
    return {"alias_name": name, "alias_label": "rudder_id"}


def bz_identify(name: str) -> Requests:
    return bz("users/identify", aliases_to_identify=[{"external_id": "u1", "user_alias": bz_alias(name)}])


def bz_known(name: str) -> Requests:
    return bz(attributes=[{"user_alias": bz_alias(name), "_update_existing_only": False, "a": 1}])


def wrong(key: str) -> dict[str, str]:
    return {"authorization": key}


DEVICE = {"$device_id": "d1", "$insert_id": "i-0", "distinct_id": "$device:d1"}
BOTH = {"$device_id": "d1", "$user_id": "u1"}
BIG = "x" * 102_400
NEWS = {"subscription_group_id": "g", "subscription_state": "subscribed"}
CASES: dict[str, Case] = {
    "mp.auth": Case(mp(headers=wrong("Basic eDo=")), mp()),
    "mp.auth.token": Case(engage({"$token": "t2"}), engage({}), level="strict"),
    "mp.import.count": Case(mp(*[{}] * 2001), mp(*[{"$insert_id": f"i-{n}"} for n in range(2000)])),
    "mp.import.size": Case(
        mp(a=["x" * 1_000_000] * 11), mp(*[{"$insert_id": f"i-{n}", "a": ["x" * 200] * 100} for n in range(50)])
    ),
    "mp.import.record_size": Case(mp(a=["x" * 5000] * 220), mp(a=["x" * 5] * 220)),
    "mp.import.required": Case(mp(distinct_id=None), mp()),
    "mp.import.time_past": Case(mp(time=31_535_999), mp(time=31_536_000)),
    "mp.import.time_text": Case(mp(time="2026-08-06T09:00:00Z"), mp(time=str(SECONDS))),
    "mp.import.distinct_id": Case(mp(distinct_id="anonymous"), mp(distinct_id="Anonymous")),
    "mp.import.insert_id": Case(mp(**{"$insert_id": "a" * 37}), mp(**{"$insert_id": "a" * 36})),
    "mp.import.properties": Case(mp(**numbered(253)), mp(**numbered(251))),
    "mp.import.depth": Case(mp(a={"b": {"c": {"d": 1}}}), mp(a={"b": {"c": 1}})),
    "mp.import.keys": Case(mp(a=["x"] * 255), mp(a=["x"] * 254)),
    "mp.import.text": Case(mp(a="x" * 256), mp(a="x" * 255)),
    "mp.import.utf8": Case(mp(a="\ud800"), mp(a="\U0001f600")),
    "mp.import.ip": Case(mp(ip="1.2.3.4"), mp(ip=0)),
    "mp.import.ignore": Case(mp(**{"$ignore": True}), mp(**{"$ignore": False})),
    "mp.import.bucket": Case(mp(bucket="b"), mp(buckets="b")),
    "mp.fold.query": Case(mp({}, {}), mp({}, {"time": SECONDS - 61})),
    "mp.id.simplified": Case(each(mp(**DEVICE), mp(**BOTH)), each(mp(**BOTH), mp(**DEVICE)), {"merge": "simplified"}),
    "mp.id.original_merge": Case(original("u1", "a1"), original("u1", "u1"), {"merge": "original"}),
    "mp.id.alias": Case(alias(alias="b", distinct_id="a"), alias(alias="b"), {"merge": "original"}),
    "mp.engage.count": Case(engage(*[{}] * 2001), engage(*[{}] * 2000)),
    "mp.delete": Case(mp_delete(2000), mp_delete(1999)),
    "mp.engage.answer": Case(engage({"$distinct_id": ""}), engage({})),
    "kl.auth": Case(kl(headers=wrong("Klaviyo-API-Key k2")), kl_event()),
    "kl.event.required": Case(kl_event({"first_name": "Ada"}), kl_event({"anonymous_id": "a"})),
    "kl.event.properties": Case(kl_event(properties=numbered(401)), kl_event(properties=numbered(400))),
    "kl.event.string": Case(kl_event(properties={"a": BIG + "x"}), kl_event(properties={"a": BIG})),
    "kl.event.array": Case(kl_event(properties={"a": [1] * 4001}), kl_event(properties={"a": [1] * 4000})),
    "kl.event.time": Case(kl_event(time="1989-12-31T23:59:59Z"), kl_event(time="2027-08-06T09:00:00Z")),
    "kl.event.time_second": Case(kl_event(time="2026-08-06T09:00:00.5Z"), kl_event(time="2026-08-06T09:00:00Z")),
    "kl.fold.unique": Case(each(kl_event(), kl_event()), each(kl_event(), kl_event(unique_id="m2"))),
    "kl.fold.second": Case(
        each(*[kl_event(unique_id=None, time="2026-08-06T09:00:00Z")] * 2),
        each(*[kl_event(unique_id=None, time=f"2026-08-06T09:00:0{n}Z") for n in range(2)]),
    ),
    "kl.profile.import": Case(
        each(
            kl_profile(email="a@b.example"),
            kl_profile(external_id="u1"),
            kl_profile(email="a@b.example", external_id="u1"),
        ),
        each(kl_profile(email="a@b.example"), kl_profile(email="a@b.example", external_id="u1")),
    ),
    "kl.profile.patch": Case(
        kl("profiles/01X", "PATCH", attributes={}),
        each(kl_profile(), kl("profiles/01SIMULATED000000000000001", "PATCH", attributes={})),
    ),
    "kl.profile.email": Case(kl_profile(email="ada"), kl_profile(email=f"{'a' * 88}@b.example")),
    "kl.profile.phone": Case(kl_profile(phone_number="030 123456"), kl_profile(phone_number="+49 30 123456")),
    "kl.subscribe": Case(kl_subscribe(*[{}] * 1001), kl_subscribe(*[{}] * 1000)),
    "kl.subscribe.history": Case(kl_subscribe(historical_import=True), kl_subscribe(historical_import=False)),
    "kl.subscribe.sms": Case(
        kl_subscribe({"subscriptions": {"sms": {}}}),
        kl_subscribe({"phone_number": "+15005550006", "subscriptions": {"sms": {}}}),
    ),
    "kl.unsubscribe.global": Case(kl_subscribe(kind="delete"), each(kl_subscribe(), kl_subscribe(kind="delete"))),
    "kl.list": Case(kl_subscribe(list_id="other"), kl_subscribe(), {"lists": ["news"]}),
    "kl.merge": Case(
        each(
            kl_profile(email="a@b.example"),
            kl_profile(email="c@d.example"),
            kl(
                "profile-merge",
                id="01SIMULATED000000000000001",
                relationships={"profiles": {"data": [{"id": "01SIMULATED000000000000002"}]}},
            ),
        ),
        kl("profile-merge", id="01X", relationships={"profiles": {"data": [{"id": "01Y"}]}}),
    ),
    "kl.delete": Case(
        kl(
            "data-privacy-deletion-jobs",
            attributes={"profile": {"data": {"id": "1", "attributes": {"email": "a@b.example"}}}},
        ),
        kl("data-privacy-deletion-jobs", attributes={"profile": {"data": {"attributes": {"email": "a@b.example"}}}}),
    ),
    "bz.auth": Case(bz(host="rest.fra-01.braze.eu"), bz_user(a=1)),
    "bz.url": Case(bz("nowhere/at/all"), bz("campaigns/trigger/send")),
    "bz.id.required": Case(bz_event(external_id=None), bz_event(external_id=None, email="a@b.example")),
    "bz.event.required": Case(bz_event(time="yesterday"), bz_event(time="2026-08-06")),
    "bz.purchase.required": Case(bz_purchase(product_id="p" * 256), bz_purchase(product_id="p" * 255)),
    "bz.purchase.quantity": Case(bz_purchase(quantity=101), bz_purchase(quantity=100)),
    "bz.limit.total": Case(
        bz(attributes=[{"external_id": f"u{n}", "a": 1} for n in range(76)]),
        bz(attributes=[{"external_id": f"u{n}", "a": 1} for n in range(75)]),
    ),
    "bz.limit.size": Case(bz_user(a="x" * 4_200_000), bz_user(a="x" * 4000)),
    "bz.limit.bulk": Case(
        bz("users/track/bulk", attributes=[{"external_id": "u1", "a": 1}] * 101),
        bz("users/track/bulk", attributes=[{"external_id": "u1", "a": 1}] * 100),
    ),
    "bz.attr.email": Case(bz_user(email="Ada@B.example"), bz_user(email="ada@b.example")),
    "bz.attr.nested_size": Case(bz_user(a={"b": BIG}), bz_user(a={"b": BIG[:-10]})),
    "bz.attr.nested_invalid": Case(bz_user(a={"b": None}), bz_user(a={"b": 1}, c=None)),
    "bz.attr.country": Case(bz_user(country="Germany"), bz_user(country="DE")),
    "bz.update_only.alias": Case(
        bz(attributes=[{"user_alias": bz_alias("a"), "b": 1}]),
        each(bz_known("a"), bz(attributes=[{"user_alias": bz_alias("a"), "b": 1}])),
    ),
    "bz.update_only.id": Case(
        bz_user(_update_existing_only=True, a=1), each(bz_user(a=1), bz_user(_update_existing_only=True, a=2))
    ),
    "bz.identify.new": Case(each(bz_known("phone"), bz_identify("phone")), bz_identify("phone")),
    "bz.identify.merge": Case(
        each(bz_user(a=1), bz_known("phone"), bz_identify("phone")), each(bz_user(a=1), bz_identify("phone"))
    ),
    "bz.identify.same_label": Case(
        each(bz_known("phone"), bz_identify("phone"), bz_known("laptop"), bz_identify("laptop")),
        each(bz_known("phone"), bz_identify("phone"), bz_identify("phone")),
    ),
    "bz.identify.answer": Case(
        bz("users/identify", aliases_to_identify=[{"external_id": "u"}] * 51),
        bz("users/identify", aliases_to_identify=[{"external_id": "u"}] * 50),
    ),
    "bz.merge": Case(bz("users/merge", merge_updates=[{}] * 51), bz("users/merge", merge_updates=[{}] * 50)),
    "bz.subscription": Case(
        bz(
            "v2/subscription/status/set",
            subscription_groups=[{**NEWS, "emails": ["a@b.example"] * 51}],
        ),
        bz(
            "v2/subscription/status/set",
            subscription_groups=[{**NEWS, "emails": ["a@b.example"] * 50}],
        ),
    ),
    "bz.future": Case(bz_event(time="2026-08-06T10:00:01Z"), bz_event(time="2026-08-06T10:00:00Z")),
    "bz.delete": Case(bz("users/delete", external_ids=["u"] * 51), bz("users/delete", external_ids=["u"] * 50)),
    "bz.object.errors": Case(bz_user(email="ada"), bz_user(email="a@b.example")),
    "bz.event.reserved_keys": Case(bz_event(properties={"time": 1}), bz_event(properties={"times": 1})),
    **bounds_ga4.CASES,
    **bounds_am.CASES,
    **bounds_meta.CASES,
    **bounds_customerio.CASES,
    **bounds_hs.CASES,
    **bounds_intercom.CASES,
    **bounds_iterable.CASES,
    **bounds_mailchimp.CASES,
    **bounds_crm.CASES,
    **bounds_small.CASES,
}
#: rules whose case is another one's: they say what happens to a request whose records break others
ELSEWHERE = {
    "mp.import.partial",
    "bz.track.partial",
    "bz.track.all_bad",
    "bz.identify.behaviour",
    "kl.profile.create",
    "kl.profile.identity",
}
#: rules about many requests in a short time, which a stopped clock would break by itself
RATES = {"mp.rate", "kl.rate", "bz.rate", "hs.rate", "ic.rate", "it.rate", "ac.rate"}  # fmt: skip
TYPES = {
    "mp": "MP",
    "kl": "KLAVIYO",
    "bz": "BRAZE",
    "ga4": "GA4",
    "am": "AM",
    "fb": "FACEBOOK_PIXEL",
    "cio": "CUSTOMERIO",
    "hs": "HS",
    "ic": "INTERCOM",
    "it": "ITERABLE",
    "mc": "MAILCHIMP",
    "sf": "SALESFORCE",
    "ac": "ACTIVE_CAMPAIGN",
    "zd": "ZENDESK",
    "ph": "POSTHOG",
    "sc": "SNAPCHAT_CONVERSION",
    "tt": "TIKTOK_ADS",
}


def findings(rule: str, requests: Requests, level: str) -> list[tuple[str, str]]:
    case = CASES[rule]
    type = TYPES[rule.partition(".")[0]]
    server = simulations.open(type, CONFIGS[type], account=case.account, now=NOW, level=level)  # type: ignore[arg-type]
    requests(server)
    assert server.faults == 0
    return [(finding.rule, finding.what) for finding in (*server.losses, *server.changes)]


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_has_an_effect_on_one_side_of_its_bound_only(rule: str) -> None:
    """Beyond the bound the loss or change is reported under the rule's id; at the bound nothing is."""
    case = CASES[rule]

    assert rule in [name for name, _ in findings(rule, case.breaks, case.level)]
    assert rule not in [name for name, _ in findings(rule, case.keeps, case.level)]


@pytest.mark.parametrize("rule", CASES)
def test_nothing_is_reported_at_level_answers(rule: str) -> None:
    """The lowest level judges nothing."""
    assert findings(rule, CASES[rule].breaks, "answers") == []


def test_every_rule_with_an_effect_has_its_cases() -> None:
    """A new rule in `facts.yaml` needs a case on both sides of its bound."""
    rules = {id: rule for type in TYPES.values() for id, rule in SIMULATIONS[type].rules.items()}
    assert {id for id, rule in rules.items() if rule.effect not in QUIET} == CASES.keys() | ELSEWHERE | RATES


def test_every_simulated_type_has_cases() -> None:
    """A new simulation needs cases of its rules; types that share a simulation share them."""
    tested = {SIMULATIONS[type] for type in TYPES.values()}
    assert {type for type in SIMULATIONS if SIMULATIONS[type] not in tested} == set()
