"""No scenario passes by accident: what x empty, crashed, filtered, disabled, misspelt, negated.

Each row is a scenario that proves less than it claims. It has to fail, or be rejected before it runs, with a message
that says what to write instead. Next to many of them is a scenario that makes the same claim and proves it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import InvalidSuite

WORKSPACE = """
transformations:
  boom: {language: python, code: "def transformEvent(e, m):\\n    raise ValueError('broken')"}
  drop: {language: python, code: "def transformEvent(e, m):\\n    return None"}
destinations:
  hook:
    type: WEBHOOK
    config: {webhookUrl: https://hook.example/in, headers: [{from: Authorization, to: Bearer abc12345}]}
  lake: {type: WEBHOOK, config: {webhookUrl: https://lake.example/in}}
  asks: {type: WEBHOOK, config: {webhookUrl: "https://asks.example/in?a=1&a=2&b="}}
  off: {type: WEBHOOK, enabled: false, config: {webhookUrl: https://off.example/in}}
  bad: {type: WEBHOOK, transformation: boom, config: {webhookUrl: https://bad.example/in}}
  sieve: {type: WEBHOOK, transformation: drop, config: {webhookUrl: https://sieve.example/in}}
  ga: {type: GA4, config: {apiSecret: x, measurementId: G-1, typesOfClient: gtag}}
sources:
  web: {destinations: [hook]}
  broken: {destinations: [bad]}
  both: {destinations: [hook, bad]}
  two: {destinations: [hook, lake]}
  dead: {destinations: [off]}
  half: {destinations: [hook, off]}
  none: {destinations: []}
  asking: {destinations: [asks]}
  sifted: {destinations: [sieve]}
  analytics: {destinations: [ga]}
"""
TRACK = "{type: track, event: A, userId: u1, properties: {card: '4111', tags: [a]}}"
REFUSED = ", recorder: {hook: {status: 400}}"
CRASH = "bad: failed in user_transform: ValueError: broken (boom.py:2:5)"


def result(scenario: str, head: str = "") -> str:
    """The result of a scenario, without its name; empty if it passes."""
    text = f"{head}\nscenarios:\n  - {{name: a, {scenario}}}\n"
    try:
        suite = runner.loads(text, Workspace.loads(WORKSPACE))
    except InvalidSuite as error:
        return str(error)
    with runner.open_planes(limit=60) as planes:
        outcome = runner.attempt(suite.scenarios[0], planes)
    return "" if outcome.ok else runner.explanation(outcome)


def sends(expect: str, source: str = "web", send: str = TRACK, more: str = "") -> str:
    return f"source: {source}, send: {send}, expect: {expect}{more}"


def verifies(expect: str, target: str = "destination: bad", more: str = "") -> str:
    return f"{target}, event: {TRACK}, expect: {expect}{more}"


def delivers(answer: str, source: str = "") -> str:
    """A scenario whose event is checked up to the destination, which answers 503."""
    target = f"source: {source}" if source else "destination: hook"
    scripts = "hook: {status: 503, body: {why: full}}" + (", lake: {status: 503}" if source else "")
    expect = f"{{send_to_destination: {{hook: {answer}}}}}" if source else f"{{send_to_destination: {answer}}}"
    return verifies(expect, f"{target}, stages: {{send_to_destination: true}}", f", recorder: {{{scripts}}}")


def negates(properties: str, operand: str, at: str = "properties.card") -> str:
    """A scenario that sends these properties, and expects that something does not match `operand`."""
    expected = f"{{$not: {operand}}}"
    for key in reversed(at.split(".")):
        expected = f"{{{key}: {expected}}}"
    event = f"{{type: track, event: A, userId: u1, properties: {{{properties}}}}}"
    return sends(f"{{delivered: [{{body: {expected}}}]}}", send=event)


CRASHED = [
    (sends("{delivered: []}", "broken"), CRASH),
    (sends("{delivered: {$each: {body: {event: A}}}}", "broken"), CRASH),
    (sends("{delivered: {hook: [{}]}}", "both"), CRASH),
    (sends("{delivered: [{}]}", "both", more=", destination: hook"), ""),  # the other one is not under test
    (sends("{response: {status: 200}}", "broken"), CRASH),
    (sends("{dropped: []}", "broken"), CRASH),
    (sends("{dropped: {by: user_transform}}", "broken"), CRASH),
    (sends("{attempts: {hook: 1}}", "both"), CRASH),
    (sends("{dest_transform: []}", "broken"), CRASH),
    (sends("{user_transform: {$length: 0}}", "broken"), CRASH),
    (sends("{failed: {hook: []}}", "both"), CRASH),
    (sends("{failed: []}", "broken"), "failed: expected 0 elements, got 1"),
    (
        sends("{failed: [{error: {$contains: other}}]}", "broken"),
        'failed.0.error: expected a string or list with "other"',
    ),
    (sends("{failed: {$contains: {destination: bad}}}", "both", more=REFUSED), "hook: failed in send_to_destination"),
    (sends("{failed: {$contains: [{destination: bad}, {destination: hook}]}}", "both", more=REFUSED), ""),
    (sends("{failed: {$length: {$gte: 1}}}", "both", more=REFUSED), ""),
    (sends("{failed: {$each: {event: {userId: u1}}}}", "both", more=REFUSED), ""),
    (sends("{failed: {$length: {$lte: 5}}}", "broken"), CRASH),
    (sends("{failed: {$any: [[], [{}]]}}", "broken"), CRASH),
    (sends("{failed: {$not: {$contains: {by: delivery}}}}", "broken"), CRASH),
    (sends("{delivered: [], failed: any}", "broken"), ""),
    (sends("{failed: {by: user_transform, error: {$contains: broken}}}", "broken"), ""),
    (sends("{delivered: {hook: [{}]}, failed: {bad: [{fate: failed}]}}", "both"), ""),
    (
        sends("{delivered: [{}]}", more=", setup: [{source: both, send: {type: identify, userId: u1}}]"),
        f"setup: {CRASH}",
    ),
    (
        sends("{delivered: [{}]}", more=", setup: [{source: web, send: {type: identify}}]"),
        "setup: response.status: expected 200, got 400",
    ),
    (
        sends("{delivered: [{}]}", more=", teardown: [{source: web, send: {type: identify}}]"),
        "teardown: response.status: expected 200",
    ),
    (
        sends(
            "{delivered: [{}]}",
            more=", setup: [{source: both, send: {type: identify, userId: u1}, expect: {failed: any}}]",
        ),
        "",
    ),
    (sends("{delivered: []}", more=", recorder: {hook: {status: 400}}"), "hook: failed in send_to_destination"),
    (sends("{attempts: 8}", more=", recorder: {hook: {status: 503}}"), "hook: dead after 8 attempts"),
    (sends("{attempts: 8, failed: {status: 503, fate: dead}}", more=", recorder: {hook: {status: 503}}"), ""),
    (verifies("{status: 200}"), CRASH),
    (verifies("{error: {$absent: true}}"), CRASH),
    (verifies("{headers: {X-No: {$absent: true}}}"), "that it does not expect: `user_transform: {error: ...}`"),
    (verifies("{dest_transform: [{}]}"), CRASH),
    (verifies("{dest_transform: {$each: {body: {$absent: true}}}}"), CRASH),
    (verifies("{dest_transform: {hook: {method: POST}}}", "source: both"), CRASH),
    (verifies("{dest_transform: {error: {$contains: Aborting}}}"), CRASH),  # what the failure led to
    (verifies("{dest_transform: {error: {$absent: false}}}"), CRASH),
    (verifies("{dest_transform: {hook: {method: POST}, bad: {error: {$contains: Abort}}}}", "source: both"), CRASH),
    (verifies("{body: {}}"), CRASH),
    (verifies("{body: {data: [{}]}}"), CRASH),
    (verifies("{body: {data: {$each: {}}}}"), "$each must not be {}: everything matches it"),
    (verifies("{body: {$keys: {$contains: data}}}"), CRASH),
    (verifies("{body: {$not: {$anywhere: zzz}}}"), CRASH),
    (verifies("{user_transform: {error: {$any: [{$absent: true}, {$type: string}]}}}"), CRASH),
    (verifies("{body: {data: [{user_transformed_payload: {error: {$contains: broken}}}]}}"), ""),
    (verifies("{body: {$anywhere: broken}}"), ""),
    (verifies("{user_transform: {$not: {event: A}}}"), CRASH),
    (verifies("{user_transform: {$exact: {error: {$absent: false}}}}"), ""),
    (verifies("{status: 200}", "destination: off"), "off: failed in routing: Destination with id off is disabled"),
    (verifies("{user_transform: {error: {$contains: broken}}}"), ""),
    (
        verifies(
            "{dest_transform: {hook: {method: POST}}, user_transform: {bad: {error: {$absent: false}}}}", "source: both"
        ),
        "",
    ),
    (verifies("{dest_transform: {error: {$contains: Aborting}}}", "destination: sieve"), ""),
    (
        verifies(
            "{dest_transform: {method: POST}}",
            "destination: hook, stages: {send_to_destination: true}",
            ", recorder: {hook: {status: 503}}",
        ),
        "hook: failed in send_to_destination: the destination answered 503",
    ),
    (delivers("{status: 503}"), ""),
    (delivers("{response: {why: full}}"), ""),
    (delivers("{response: {$type: object}}"), "that it does not expect: `send_to_destination: {status: ...}`"),
    (delivers("{status: {$not: 404}}"), "hook: failed in send_to_destination: the destination answered 503"),
    (delivers("{status: 503}", "two"), "lake: failed in send_to_destination: the destination answered 503"),
    (sends("{failed: any}", "broken"), "`failed: any` allows every failure"),
    (sends("{failed: any, attempts: 1}", "broken"), ""),
]
EMPTY = [
    (sends("{delivered: {$each: {body: {event: A}}}}", "sifted"), "expected at least one that is"),
    (sends("{delivered: {$each: {}, $length: 0}}", "sifted"), "$each must not be {}: everything matches it"),
    (sends("{delivered: {$each: {$type: object}, $length: 0}}", "sifted"), ""),
    (sends("{delivered: {}}"), "{} is ambiguous: write [] if nothing may come"),
    (sends("{delivered: {hook: {}}}"), "{} is ambiguous"),
    (sends("{dropped: {}}"), "{} is ambiguous"),
    (sends("{attempts: {}}"), "{} is ambiguous"),
    (sends("{response: {}}"), "{} matches everything: write what 'response' must have"),
    (sends("{warehouse: {}}"), "{} matches everything: write what 'warehouse' must have"),
    (sends("{}"), "the expectation is missing or empty"),
    (sends("{capture: {x: delivered.0.body.event}}"), "a scenario that only captures cannot fail"),
    (sends("{delivered: [{body: {$contains: ''}}]}"), "$contains must not be empty"),
    (sends("{delivered: [{body: {event: {$regex: ''}}}]}"), "$regex must be a pattern"),
    (sends("{delivered: {$length: 2}}", "two", "{type: track, event: A}"), "expected a length of 2"),
    (sends("{delivered: {$length: 2}}", "two"), ""),
    (sends("{delivered: [{body: {properties: {$unique: skuu}}}]}"), "expected a list"),
    (sends("{delivered: {$length: {$gte: 0}}}"), "every list has such a length: write its elements"),
    (sends("{delivered: {$length: {$gte: 1}}}"), ""),
    (sends("{delivered: [{query: {a: '2'}}]}", "asking"), 'delivered.0.query.a: expected "2", got ["1","2"]'),
    (sends("{delivered: [{query: {a: ['1', '2'], b: ''}}]}", "asking"), ""),
    (sends("{attempts: {$gte: 0}}"), "every number matches"),
    (sends("{attempts: {hook: {$lte: 1000000000}, bad: 0}, failed: any}", "both"), "every number matches"),
    (sends("{attempts: {hook: {$gte: 1}, bad: 1}, failed: any}", "both"), ""),
    (sends("{violations: []}"), "the source 'web' has no tracking plan, so there are never violations"),
    (sends("{delivered: []}", send="[]"), "'send' must not be empty"),
    ("source: web, calls: [], expect: {delivered: []}", "'calls' must not be empty"),
    ("transformation: drop, event: [], expect: {user_transform: []}", "'event' must not be empty"),
    (
        sends("{delivered: []}", "sifted", more=", always: {delivered: {status: 201}}"),
        "always: delivered had no values to check",
    ),
    (
        sends("{delivered: []}", "sifted", more=", always: {delivered: {$absent: false}}"),
        '{"$absent":false} always matches: write what it must have',
    ),
    (
        sends("{delivered: [{}]}", more=", always: {user_transform: {event: B}}"),
        "always: user_transform had no values to check",
    ),
    (
        sends("{delivered: [{body: {event: {$regex: '.*'}}}]}"),
        "match every string: to accept any string, write {$type: string}",
    ),
    (sends("{delivered: [{body: {event: {$regex: 'x?'}}}]}"), "match every string"),
    (sends("{delivered: [{body: {event: {$regex: '^(A|B)?$'}}}]}"), ""),
    (sends("{user_transform: [{event: A}]}"), "the destination 'hook' has no transformation"),
    (sends("{user_transform: {hook: [{event: A}]}}", "both"), "the destination 'hook' has no transformation"),
    (sends("{delivered: [{body: {event: {$regex: '^A$'}}}]}", send='{type: track, event: "A\\n", userId: u1}'), "^A$"),
]
FILTERED = [
    (sends("{delivered: [{}]}", "analytics", "{type: identify, userId: u1}"), "ga: filtered in routing: Message type"),
    (sends("{delivered: [{}]}", "sifted"), "sieve: dropped in user_transform"),
    (sends("{dropped: [{fate: dropped}], delivered: []}", "analytics", "{type: identify, userId: u1}"), "filtered"),
    (sends("{dropped: [{fate: filtered, by: routing}]}", "analytics", "{type: identify, userId: u1}"), ""),
    (sends("{dropped: {sieve: [{by: user_transform}]}, delivered: []}", "sifted"), ""),
]
DISABLED = [
    (sends("{delivered: []}", "dead"), "the destination 'off' is disabled"),
    (sends("{delivered: {hook: [{}], off: []}}", "half"), "the destination 'off' is disabled"),
    (sends("{delivered: [], dropped: {reason: {$contains: disabled}}}", "dead"), ""),
    (sends("{attempts: {hook: 1, off: 0}}", "half"), "the destination 'off' is disabled"),
    (sends("{dest_transform: {off: []}}", "half"), "the destination 'off' is disabled"),
    (sends("{delivered: []}", "none"), "the source 'none' has no destination"),
    (sends("{delivered: [{}]}", more=", recorder: {lake: {status: 200}}"), "no step of this scenario sends to 'lake'"),
    (
        sends("{delivered: [{}]}", more=", recorder: {hook: [{status: 200}, {status: 503}]}"),
        "recorder: hook used 1 of its 2 responses",
    ),
    (sends("{delivered: [{}], attempts: 2}", more=", recorder: {hook: [{status: 503}, {status: 200}]}"), ""),
]
MISSPELT = [
    (
        sends("{delivered: [{boddy: {$absent: true}}]}"),
        "a request that was delivered has no member 'boddy'. Did you mean",
    ),
    (sends("{delivered: [{hedaers: {$not: {authorization: x}}}]}"), "Did you mean 'headers'?"),
    (sends("{delivered: {hook: [{$not: {boddy: {}}}]}}"), "Did you mean 'body'?"),
    (sends("{response: {stauts: {$absent: true}}}"), "Did you mean 'status'?"),
    (sends("{dropped: [], failed: [{reason: x}]}"), "Use 'error'."),
    (
        sends("{delivered: [{headers: {Authorization: {$absent: true}}}]}"),
        "headers.Authorization: expected nothing, got",
    ),
    (sends("{delivered: [{headers: {AUTHORIZATION: Bearer abc12345}}]}"), ""),
    (
        sends("{delivered: [{body: {event: B}}]}", more=", ignore: [event]"),
        "'event' is ignored, so this is never compared",
    ),
    (sends("{delivered: [{body: {$anywhere: B}}]}", more=", ignore: [event]"), 'expected somewhere "B"'),
    (sends("{delivered: [{body: {$anywhere: {card: B}}}]}", more=", ignore: [body.properties.card]"), "somewhere"),
    (sends("{delivered: [{body: {$anywhere: u1}}]}", more=", ignore: [event]"), ""),
    (sends("{delivered: {$contains: {body: {$use: e}}}}", more=", ignore: [body]"), "expected an element"),
    (sends("{delivered: {$contains: {body: {$use: e}}}}", more=", ignore: [messageId]"), ""),
    (sends("{delivered: [{body: {event: A}}]}", more=", ignore: [evnt]"), "'evnt' is nowhere in the results"),
    (sends("{delivered: [{body: {$use: e}}]}", more=", ignore: [messageId]"), ""),
    (sends("{delivered: {hoook: [{}]}}", "two"), "Did you mean 'hook'?"),
    (sends("{delivered: {hook: [{}], lake: []}}"), "the source is not connected to a destination 'lake'. It has hook."),
    (sends("{attempts: {lake: 0}}"), "the source is not connected to a destination 'lake'. It has hook."),
    (
        sends("{delivered: [{}]}", more=", destination: hook, destinationConfig: {webhokUrl: 'https://x.example'}"),
        "WEBHOOK has no configuration variable 'webhokUrl'. Did you mean 'webhookUrl'?",
    ),
    (sends("{delivered: [{}]}", more=", always: {deliverd: {status: 200}}"), "Did you mean 'delivered'?"),
]
NEGATED = [
    (
        sends("{delivered: [{body: {$not: {$contains: '4111'}}}]}"),
        "$contains does not apply to; use $anywhere to look inside",
    ),
    (sends("{delivered: [{body: {$not: {$anywhere: '4111'}}}]}"), 'expected not {"$anywhere":"4111"}'),
    (sends("{delivered: [{body: {$not: {$anywhere: '5555'}}}]}"), ""),
    (sends("{delivered: [{body: {evnt: {$not: B}}}]}"), "nothing, so there is nothing to negate"),
    (sends("{delivered: [{body: {$not: {evnt: A}}}]}"), "nothing, so there is nothing to negate (at evnt)"),
    (sends("{delivered: [{body: {event: {$not: B}}}]}"), ""),
    (sends("{delivered: [{body: {$not: [1]}}]}"), "an object, and a list is negated"),
    (
        sends("{delivered: {$not: [{body: {event: B}}]}}", "sifted"),
        "a negated list also matches any list of another length",
    ),
    (sends("{delivered: {hook: {$not: [{body: {event: B}}]}}}", "both"), "write {$each: {$not: ...}}"),
    (sends("{delivered: {$each: {body: {event: {$not: B}}}}}"), ""),
    (sends("{delivered: {$not: []}}"), ""),
    (sends("{delivered: [{body: {$not: {$snapshot: true}}}]}"), "$not cannot negate a snapshot"),
    (negates("card: []", "['4111']"), "an empty list, so there is nothing to negate"),
    (negates("card: [{n: 1}]", "[{m: 1}]"), "nothing, so there is nothing to negate (at m)"),
    (negates("card: [{n: 1}]", "[{n: 2}]"), ""),
    (
        negates("card: '4111'", "'4111'", "properties"),
        "an object, and a string is negated; use $anywhere to look inside",
    ),
    (negates("card: ['4111']", "'4111'"), "a list, and a string is negated; use $anywhere to look inside"),
    (negates("card: ['4111']", "{$literal: '4111'}"), "a list, and a string is negated"),
    (negates("card: '4111'", "4111"), ""),
    (negates("card: '4111'", "null"), ""),
    (negates("card: 'A'", "{$gt: 100}"), "a string, and a number is compared"),
    (negates("card: true", "{$lte: 100}"), "neither a number nor a string, and a number is compared"),
    (negates("card: 99", "{$gt: 100}"), ""),
    (negates("card: true", "{$approx: 100}"), "a value that is not a number"),
    (negates("card: []", "{$each: '4111'}"), "an empty list or object"),
    (negates("card: ['5']", "{$each: '4111'}"), ""),
    (negates("card: ['5']", "{$unique: true}"), "expected not"),
    (negates("card: []", "{$unique: true}"), "fewer than two elements"),
    (negates("card: ['5', '5']", "{$unique: true}"), ""),
    (negates("card: 'text'", "{$json: {card: '4111'}}"), "a string that is not JSON"),
    (negates("card: '{}'", "{$json: {card: '5'}}"), "nothing at card"),
    (negates("card: '{\"n\": 1}'", "{$json: {n: 2}}"), ""),
    (negates("card: {n: 1}", "{$query: {nn: 1}}"), "nothing at nn, so there is nothing to negate"),
    (negates("card: {n: 1}", "{$query: {'*.x': [1]}}"), "nothing at *.x"),
    (negates("card: {n: 1}", "{$query: {n: 2}}"), ""),
]
ALL = {
    "crashed": CRASHED,
    "empty": EMPTY,
    "filtered": FILTERED,
    "disabled": DISABLED,
    "misspelt": MISSPELT,
    "negated": NEGATED,
}


@pytest.mark.parametrize(
    ("scenario", "said"),
    [pytest.param(*row, id=f"{kind}-{n}") for kind, rows in ALL.items() for n, row in enumerate(rows)],
)
def test_nothing_passes_by_accident(scenario: str, said: str) -> None:
    """The text says what is wrong; an empty one marks a valid scenario, which passes."""
    head = "fixtures: {e: {type: track, event: A, userId: u1, properties: {card: '4111', tags: [a]}, messageId: m}}"
    explained = result(scenario, head if "$use" in scenario else "")

    assert bool(explained) == bool(said), explained
    assert said in explained


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("never: ['4111']", 'never: "4111" is at dest_transform.hook.0.body.JSON.properties.card'),
        ("never: [{key: card}]", 'never: {"key":"card"} is at dest_transform.hook.0'),
        ("never: [{$regex: '^41'}]", 'never: {"$regex":"^41"} is at dest_transform.hook'),
        ("never: ['Bearer abc']", 'never: "Bearer abc'),
        ("never: [4111]", "never: 4111 is at dest_transform.hook.0.body.JSON.properties.card"),
        ("never: [1234567]", "never: 1234567 is at dest_transform.hook.0.body.JSON.properties.note"),
        ("never: ['5555', {key: password}, 12345]", ""),
        ("always: {deliverd: {status: 200}}", "the key 'deliverd' is not allowed here. Did you mean 'delivered'?"),
        (
            "always: {delivered: {headers: {X-Key: {$absent: false}}}}",
            "always: delivered.hook.0.headers.X-Key: expected",
        ),
        ("always: {delivered: {headers: {Authorization: {$starts: Bearer}}}}", ""),
        ("always: {dest_transform: {method: PUT}}", 'always: dest_transform.hook.0.method: expected "PUT", got "POST"'),
        ("always: {delivered: {boddy: {$absent: true}}}", "Did you mean 'body'?"),
        ("exact: true", 'body.messageId: expected nothing, got "m1"'),
        ("exact: [user_transform]", ""),
    ],
)
def test_invariants_of_a_suite_are_checked(head: str, said: str) -> None:
    """What never leaves, what every request has, and that there are no unexpected requests."""
    send = "{type: track, event: A, userId: u1, messageId: m1, properties: {card: '4111', note: no 1234567 is 4111}}"
    explained = result(sends("{delivered: [{method: POST, body: {event: A}}]}", send=send), head)

    assert bool(explained) == bool(said), explained
    assert said in explained


WHOLE = (
    "{type: track, event: A, userId: u1, properties: {a: 1}, messageId: m1, context: {ip: 127.0.0.1}, "
    "request_ip: 127.0.0.1, rudderId: {$type: uuid}, originalTimestamp: {$type: datetime}, sentAt: {$type: datetime}, "
    "timestamp: {$type: datetime}, receivedAt: {$type: datetime}}"
)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        (f"[{{method: POST, body: {WHOLE}}}]", ""),
        (f"{{hook: [{{body: {WHOLE}, headers: {{AUTHORIZATION: Bearer abc12345}}}}]}}", ""),
        (f"{{body: {WHOLE}}}", ""),
        (f"{{body: {WHOLE.replace('properties: {a: 1}, ', '')}}}", "delivered.body.properties: expected nothing"),
        ("{hook: [{method: POST}, {}]}", "delivered.hook: expected 2 elements, got 1"),
    ],
)
@pytest.mark.parametrize("exact", ["true", "[delivered]"])
def test_an_exact_request_compares_its_named_parts(expect: str, said: str, exact: str) -> None:
    """Its whole body; headers and URL are left to the transport unless they are named."""
    send = "{type: track, event: A, userId: u1, properties: {a: 1}, messageId: m1}"
    explained = result(sends(f"{{delivered: {expect}}}", send=send), f"exact: {exact}")

    assert bool(explained) == bool(said), explained
    assert said in explained


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ("{delivered: {$only: {lake: [{}]}}}", "delivered.hook: expected nothing"),
        ("{delivered: {$only: {lake: [{}], hook: [{}]}}}", ""),
        ("{delivered: {lake: [{}]}}", ""),
        ("{delivered: {lake: [{}], hook: []}}", "delivered.hook: expected 0 elements, got 1"),
    ],
)
def test_only_names_all_destinations_that_get_an_event(expect: str, said: str) -> None:
    """`$only` of a map of destinations; `exact` applies it to all scenarios."""
    explained = result(sends(expect, "two"))

    assert bool(explained) == bool(said), explained
    assert said in explained


def test_accidents_in_whole_files_are_reported(tmp_path: Path) -> None:
    """A scenario with `steps` counts a failure in any of them, and names the step."""
    steps = f"steps: [{{source: broken, send: {TRACK}, expect: {{failed: any}}}}, {{source: broken, send: {TRACK}, "
    explained = result(f"{steps} expect: {{delivered: []}}}}]")

    assert CRASH in explained
    assert "in step 2 of 2" in explained
    assert "a scenario fails on any failure that it does not expect: `failed: any`" in explained
