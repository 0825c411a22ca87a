"""The workspace as a file or as Python objects, and the mistakes in either."""

from __future__ import annotations

import json
import re
import stat
import warnings
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svctoolkit.errors import InvalidConfig, InvalidWorkspace, UnknownName, UnsetVariables, WorkspaceWarning
from svctoolkit.pipeline import Pipeline
from svctoolkit.secrets import Secret
from svctoolkit.workspace import (
    Connection,
    Delivery,
    Destination,
    Library,
    Person,
    PlaneLimits,
    Source,
    Transformation,
    Workspace,
)
from tests.examples import up_to
from tests.pace import within
from tests.plans.test_formats import PROJECT, write

SHOP = """\
workspace: shop
users: [{email: dev@example.com, token: $(env:SVC_TOKEN)}]
sources:
  web: {id: src1, name: Web, type: web, writeKey: wk1, destinations: [hook, {destination: spare, enabled: false}]}
  app: {}
destinations:
  hook:
    id: dst1
    name: Orders hook
    type: WEBHOOK
    config:
      webhookUrl: https://hook.example/in   # the orders team
      headers:
      - {from: Authorization, to: Bearer $(env:SVC_TOKEN)}
      - {from: X-Key, to: $(env:KEY:-none)}
    transformation: clean
  spare: {type: WEBHOOK, enabled: false, config: {webhookUrl: https://spare.example}}
transformations:
  clean: {language: python, file: ./clean.py}
  raw:
    language: javascript
    code: |
      export function transformEvent(event) {
        return event; // $(env:NOT_READ)
      }
libraries: {helpers: {language: javascript, file: ./helpers.js}}
delivery: {mode: record, allow: [10.0.0.5], timeout: 30}
"""
ENVIRON = {"SVC_TOKEN": "t0ken-value"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clean.py").write_text("def transformEvent(event, metadata):\n    return event\n")
    (tmp_path / "helpers.js").write_text("export const one = 1;\n")
    (tmp_path / "workspace.yaml").write_text(SHOP)
    return tmp_path


@pytest.fixture
def shop(folder: Path) -> Workspace:
    return Workspace.load(folder / "workspace.yaml", environ=ENVIRON)


def problems(text: str, **options: Any) -> list[str]:
    """The problems of a text, without the name of the file."""
    with pytest.raises(InvalidWorkspace) as error:
        Workspace.loads(text, name="w", **{"environ": {}, "strict": True, **options})
    return [str(problem).removeprefix("w:") for problem in error.value.problems]


def test_a_file_is_loaded(shop: Workspace, folder: Path):
    """Sources, connections, destinations, transformations with their code, users and delivery."""
    assert shop.name == "shop"
    assert shop.folder == folder
    assert shop.source("src1").write_key == "wk1"
    assert shop.source("web").connections == [Connection("hook"), Connection("spare", enabled=False)]
    assert shop.destination("dst1").name == "Orders hook"
    assert shop.destinations_of(shop.source("web")) == [shop.destination("hook")]
    assert shop.transformation("clean").code.startswith("def transformEvent")
    assert shop.transformation("clean").file == Path("clean.py")
    assert shop.libraries["helpers"].code == "export const one = 1;\n"
    assert shop.delivery == Delivery("record", ["10.0.0.5"], 30.0)
    assert shop.person("dev@example.com", "t0ken-value") is shop.users[0]


def test_defaults_of_a_file(shop: Workspace):
    """Id, name and write key are the key unless they are given; sources and destinations are enabled."""
    assert shop.source("app") == Source("app", "app", "app", "http", "app", enabled=True)
    assert shop.destination("spare").id == "spare"
    assert shop.destination("spare").enabled is False


def test_environment_references_become_secrets(shop: Workspace):
    """$(env:NAME) in a configuration is a secret that keeps its spelling; code is unchanged.

    The value of the variable is itself a secret, too.
    """
    token, key = (row["to"] for row in shop.destination("hook").config["headers"])

    assert token == Secret("Bearer t0ken-value")
    assert token.origin == "Bearer $(env:SVC_TOKEN)"
    assert key.reveal() == "none"
    assert set(shop.secrets()) == {"Bearer t0ken-value", "t0ken-value", "none"}
    assert "$(env:NOT_READ)" in shop.transformation("raw").code


@pytest.mark.parametrize(
    ("written", "environ", "value"),
    [
        ("$(env:A)", {"A": "x"}, Secret("x")),
        ("$(env:A)", {}, Secret("<A>")),
        ("$(env:A)", {"A": ""}, Secret("<A>")),
        ("Bearer $(env:A)", {}, Secret("Bearer <A>")),
        ("$(env:A:-d)", {}, Secret("d")),
        ("$(env:A:-d)", {"A": ""}, Secret("d")),
        ("$(env:A:-)", {}, Secret("")),
        ("a $(env:A) b $(env:B)", {"A": "1", "B": "$(env:A)"}, Secret("a 1 b $(env:A)")),
        ("$$(env:A)", {}, "$(env:A)"),
        ("$$$(env:A) $(env:A)", {"A": "1"}, Secret("$$(env:A) 1")),
        ("$(name) ${A} $A", {}, "$(name) ${A} $A"),
        ("$(var:A)", {"A": "x"}, "x"),
        ("$(var:A:-d)/$(env:B)", {"B": "b"}, Secret("d/b")),
    ],
)
def test_references_may_have_defaults(written: str, environ: dict[str, str], value: str | Secret):
    """The default replaces an unset or empty variable; a double dollar sign makes plain text."""
    text = f"destinations: {{d: {{type: WEBHOOK, config: {{webhookUrl: x, headers: [{{from: '{written}'}}]}}}}}}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsetVariables)
        workspace = Workspace.loads(text, environ=environ)
        again = Workspace.loads(workspace.dumps(), environ=environ)

    assert workspace.destination("d").config["headers"][0]["from"] == value
    assert again == workspace


def test_secrets_in_clear_text_are_saved_as_references(tmp_path: Path) -> None:
    """The file names a variable for each; on request, `.env` has the values, readable only for its owner."""
    workspace = Workspace("shop")
    for key, value in (("am", "s3cr3t-one"), ("am2", 'it\'s "two"\nlines')):
        workspace.destination(key, "AM", config={"apiKey": "k", "apiSecret": value})
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://u:pa55word@hook.example/?token=abcdef"})
    workspace.credentials["crm"] = "s3cr3t-crm"
    (tmp_path / ".env").write_text("export OTHER=1\nAM_API_SECRET=old\n", encoding="utf-8")
    workspace.save(tmp_path / "shop.yaml", env_file=True)
    text = (tmp_path / "shop.yaml").read_text(encoding="utf-8")

    assert "$(env:AM_API_SECRET)" in text
    assert not re.search("s3cr3t|two|pa55word|abcdef", text)
    assert "s3cr3t" not in repr(workspace.destination("am").config) + repr(workspace)
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / ".env").read_text(encoding="utf-8").startswith("OTHER=1\n")
    loaded = Workspace.load(tmp_path / "shop.yaml", environ={})
    assert [loaded.destination(key).config["apiSecret"].reveal() for key in ("am", "am2")] == [
        "s3cr3t-one",
        'it\'s "two"\nlines',
    ]
    assert loaded.destination("hook").config["webhookUrl"].reveal().endswith("/?token=abcdef")
    other = Workspace.load(tmp_path / "shop.yaml", environ={"AM_API_SECRET": "rules"})
    assert other.destination("am").config["apiSecret"] == Secret("rules")


def test_a_token_is_stored_as_its_hash(tmp_path: Path):
    """A token in clear text is accepted; a reference stays a reference."""
    Workspace.loads(
        "users: [{email: a@b, token: clear-text}, {email: c@d, token: '$(env:T)'}]", environ={"T": "t"}
    ).save(tmp_path / "w.yaml")
    saved = (tmp_path / "w.yaml").read_text()

    assert "clear-text" not in saved
    assert "token: sha256:" in saved
    assert "token: $(env:T)" in saved
    assert Workspace.load(tmp_path / "w.yaml", environ={"T": "t"}).person("a@b", "clear-text")


def test_a_saved_workspace_is_equal(shop: Workspace, folder: Path):
    """And other code files stay in their place."""
    shop.save(folder / "again.yaml")

    assert Workspace.load(folder / "again.yaml", environ=ENVIRON) == shop
    assert "t0ken-value" not in (folder / "again.yaml").read_text()


def test_a_workspace_can_be_saved_elsewhere(shop: Workspace, folder: Path):
    """Its files are found from the new place."""
    (folder / "sub").mkdir()
    shop.save(folder / "sub" / "w.yaml")

    again = Workspace.load(folder / "sub" / "w.yaml", environ=ENVIRON)
    assert again.transformation("clean").file == Path("../clean.py")
    assert again.transformation("clean").code == shop.transformation("clean").code


def test_saving_is_atomic(shop: Workspace, folder: Path):
    """A failed save leaves the old file and nothing else; a successful one keeps the permissions."""
    file = folder / "workspace.yaml"
    file.chmod(0o600)
    before = sorted(folder.iterdir())
    shop.transformation("local", lambda event: event)
    with pytest.raises(InvalidWorkspace, match="the Python function <lambda> cannot be saved"):
        shop.save(file)

    assert file.read_text() == SHOP

    del shop.transformations["local"]
    shop.save(file)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("path", ["nowhere/w.yaml", ".", "a\0b"])
def test_an_unwritable_place_is_a_problem(folder: Path, path: str):
    """The problem names it, and no file is left behind."""
    before = sorted(folder.iterdir())
    with pytest.raises(InvalidWorkspace, match="cannot be written"):
        Workspace("x").save(folder / path)

    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({1, 2}, "d.config.webhookUrl: a set is not a JSON value"),
        (float("nan"), "d.config.webhookUrl: nan cannot be saved"),
        ({"a": [b"x"]}, r"d.config.webhookUrl.a.0: a bytes is not a JSON value"),
        ({1: 2}, "the key 1 is not a string"),
        ("\ud83d", "half of a surrogate pair"),
    ],
)
def test_values_that_a_file_cannot_hold_are_problems(value: Any, says: str):
    """Those that could not be loaded again; secrets are not shown."""
    workspace = Workspace("w")
    workspace.destination("d", "WEBHOOK", config={"webhookUrl": value})
    with pytest.raises(InvalidWorkspace, match=says) as error:
        workspace.dumps()

    assert "s3cr3t-value" not in str(error.value)


def test_code_changed_in_memory_is_not_lost(shop: Workspace):
    """If its file has other code, that is not silently ignored."""
    shop.transformation("clean").code = "def transformEvent(event, metadata): pass\n"
    with pytest.raises(InvalidWorkspace, match="its code differs from clean"):
        shop.dumps()

    shop.transformation("clean").file = None
    assert "pass" in shop.dumps()


texts = st.text(max_size=20) | st.sampled_from(
    [
        "NO",
        "1e3",
        "0x1f",
        "null",
        "~",
        "<<",
        "a: b",
        " x",
        "x\n",
        "\n\n y\n ",
        "#",
        "=",
        "---",
        "$(env:A)",
        "$$(env:A",
        "é\u2028\x85\ufeff😀",
    ]
)
words = st.text(min_size=1, max_size=12) | st.sampled_from(["NO", "on", "1e3", "<<", "null", "2026-01-01"])
no_reference = texts.filter(lambda text: "(env:" not in text)
plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
secrets = st.sampled_from([Secret("va:lue", origin="$(env:A)"), Secret("x va:lue", origin="x $(env:A:-z)")])
configs = st.recursive(
    plain | texts | secrets,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def workspaces(draw: st.DrawFn) -> Workspace:
    """Workspaces of all possible forms, with a destination type that accepts any configuration."""
    made = Workspace(draw(no_reference))
    keys = st.lists(words, max_size=3, unique=True)
    for key in draw(keys):
        code = draw(st.text(min_size=1, max_size=60))
        language = draw(st.sampled_from(["python", "javascript"]))
        version = draw(st.sampled_from(["", "0", "1"]))
        made.transformations[key] = Transformation(
            key, key, draw(no_reference), language, code=code, code_version=version
        )
        made.libraries[key] = Library(key, language, code)
    for i, key in enumerate(draw(keys)):
        to = draw(st.none() | st.sampled_from(sorted(made.transformations) or [None]))
        config = draw(st.dictionaries(st.sampled_from(["consentManagement", "connectionMode"]), configs))
        made.destinations[key] = Destination(
            key, draw(st.sampled_from([key, f"\0d{i}"])), draw(no_reference), "GTM", draw(st.booleans()), config, to
        )
    for i, key in enumerate(draw(keys)):
        to = draw(st.lists(st.sampled_from(sorted(made.destinations) or [""]), unique=True))
        connections = [Connection(d, draw(st.booleans())) for d in to if d]
        made.sources[key] = Source(
            key,
            draw(st.sampled_from([key, f"\0s{i}"])),
            draw(no_reference),
            draw(no_reference),
            f"{key}{i}",
            draw(st.booleans()),
            connections,
        )
    for i in range(draw(st.integers(0, 2))):
        made.users.append(Person.with_token(f"p{i}@example.com", draw(st.text(min_size=1))))
    allow = draw(st.lists(words, max_size=2))
    made.delivery = Delivery(draw(st.sampled_from(["record", "live"])), allow, draw(st.floats(0.001, 86400)))
    return made


@settings(max_examples=up_to(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(workspaces())
def test_any_workspace_survives_saving_and_loading(workspace: Workspace):
    """The loaded workspace is equal."""
    written = workspace.dumps()

    again = Workspace.loads(written, environ={"A": "va:lue"})
    assert again == workspace
    assert again.dumps() == written


def test_all_problems_are_reported_together():
    """In file order, each at its position and only once."""
    text = """\
workspace: shop
users: [{email: a@b, token: $(env:NOPE)}, {email: x, token: 123}, {email: a@b, token: sha256:abc}]
sources:
  web: {id: src1, writeKey: wk1, enabled: yes, destinations: [hok, {destination: hook3, enabled: 1}]}
  app: {id: src1, writeKey: wk1, destinatons: [hook], destinations: [hook, hook, dst1]}
destinations:
  hook: {id: dst1, type: WEBHOK, transformation: clen}
  hook2: {type: WEBHOOK, config: {webhookUrll: x, headers: text}}
  hook3: {typ: WEBHOOK}
  hook4: {type: WEBHOOK}
  hook5: {type: WEBHOOK, config: {webhookUrl: $(env:NOPE), headers: [{from: a, to: $(env:)}]}}
transformations:
  clean: {file: ./claen.py}
  c2: {code: x}
  c3: {}
  c4: {code: x, file: x.py}
delivery: {mode: lve, timeout: -1}
"""
    assert problems(text) == [
        "2:29: the environment variable NOPE is not set: set it, or write $(env:NOPE:-default)",
        "2:61: 'token' must be a string",
        "2:75: a@b is listed twice",
        "2:87: a hashed token is 'sha256:' and 64 hexadecimal digits",
        "4:43: 'enabled' must be true or false, not 'yes'",
        "4:63: unknown destination 'hok'. Did you mean 'hook' or 'hook5'?",
        "4:98: 'enabled' must be true or false, not 1",
        "5:13: source 'web' already has the id 'src1'",
        "5:29: source 'web' has the same write key",
        "5:34: unknown key 'destinatons'. Did you mean 'destinations'?",
        "5:76: source 'app' is already connected to 'hook'",
        "5:82: unknown destination 'dst1'. It is the id of 'hook': write the key.",
        "7:26: unknown destination type 'WEBHOK'. Did you mean 'WEBHOOK'?",
        "7:50: unknown transformation 'clen'. Did you mean 'clean'?",
        "8:35: WEBHOOK has no configuration variable 'webhookUrll'. Did you mean 'webhookUrl'?",
        "8:60: headers: expected a list, got a string",
        "9:11: unknown key 'typ'. Did you mean 'type'?",
        "10:10: webhookUrl: is required",
        "11:47: the environment variable NOPE is not set: set it, or write $(env:NOPE:-default)",
        "11:84: invalid reference: write $(env:NAME) or $(env:NAME:-default); $$(env: is plain text",
        "13:17: cannot read claen.py: no such file",
        "14:3: 'c2' needs 'language': python or javascript",
        "15:3: 'c3' has no code: give 'code' or 'file'",
        "16:17: give 'code' or 'file', not both",
        "17:18: must be one of cassette, live, record. Did you mean 'live'?",
        "17:32: 'timeout' must be more than 0, not -1",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: the file must be an object, not empty"),
        ("sources: [web]", "1:10: 'sources' must be an object, not a list"),
        ("sources: {web: {id: 12}}", "1:21: 'id' must be a string, not 12 (put it in quotes)"),
        (
            "sources: {web: {writeKey: $(env:A)}}",
            "1:27: $(env:...) is only supported in a destination's configuration, as a credential, in an account, as a "
            "token, in `forward` of a source and in `geolocation`",
        ),
        ("sources: {a: {id: b}, b: {id: c}}", "1:19: the id 'b' is the key of another source"),
        ("sources: {a: {}, b: {writeKey: a}}", "1:32: source 'a' has the same write key"),
        ("sources: {a: {id: x, writeKey: b}, b: {}}", "1:36: source 'a' has the same write key"),
        ("people: []", "1:1: unknown key 'people'. Did you mean 'users'?"),
        ("dataPlane: {window: 2}", "1:13: unknown key 'window'. Did you mean 'dedupWindow'?"),
        ("delivery: {width: 2}", "1:12: unknown key 'width'. Did you mean 'concurrency'?"),
        ("users: [{email: a@b, token: ''}]", "1:29: 'token' must not be empty"),
        ("users: [{email: a@b, token: '$(env:E:-)'}]", "1:29: the token is empty: anyone could log in"),
        ("users: [{email: 'a:b', token: x}]", "1:17: an e-mail address must not contain a colon"),
        ("users: [{email: a@b, token: S3CR3T", "1:35: a ',' is missing here, or the closing bracket"),
        (
            "destinations: {d: {type: webhook, config: {}}}",
            "1:26: unknown destination type 'webhook'. Did you mean 'WEBHOOK'?",
        ),
        ("destinations: {d: {type: WEBHOOK, config: x}}", "1:43: 'config' must be an object, not 'x'"),
        ("transformations: {t: {language: python, code: ''}}", "1:19: 't' has no code: give 'code' or 'file'"),
        ("transformations: {t: {language: python, file: t.rb}}", "1:47: cannot read t.rb: no such file"),
        ("delivery: {timeout: 1e300}", "1:21: 'timeout' must be 86400 or less, not 1e+300"),
        ("trackingPlans: {p: {}}", "1:17: give either 'project' (a folder) or 'file'"),
        (
            "trackingPlans: {p: {file: a.yaml, project: b}}",
            "1:17: give either 'project' (a folder) or 'file'",
        ),
        ("trackingPlans: {p: {file: missing.yaml}}", "1:27: cannot be used:"),
        ("trackingPlans: {p: {project: missing}}", "1:30: cannot be used:"),
        (
            "trackingPlans: {p: {file: README.md, format: odd}}",
            "1:46: unknown tracking plan format 'odd'.",
        ),
        *[
            (
                text,
                f"1:{text.index('$') + 1}: the environment variable T is not set: set it, or write $(env:T:-default)",
            )
            for text in (
                "delivery: {mode: live, geolocation: $(env:T)}",
                "{sources: {a: {forward: {url: $(env:T), writeKey: k}}}, delivery: {mode: live}}",
                "{sources: {a: {forward: {url: 'https://a.example', writeKey: $(env:T)}}}, delivery: {mode: live}}",
                "{accounts: {a: {secret: {token: $(env:T)}}}, delivery: {mode: live}}",
                "{accounts: {a: {renewals: [{token: $(env:T)}]}}, delivery: {mode: live}}",
                "{users: [{email: a@b, token: $(env:T)}], delivery: {mode: live}}",
                "{credentials: {k: $(env:T)}, delivery: {mode: live}}",
                "{destinations: {d: {type: WEBHOOK, config: {webhookUrl: $(env:T)}}}, delivery: {mode: live}}",
            )
        ],
    ],
)
def test_one_mistake_is_one_problem(text: str, said: str):
    """Without follow-up problems."""
    found = problems(text)

    assert [problem.split("\n")[0] for problem in found] == [said]


def test_a_plan_of_a_project_is_found_by_name(tmp_path: Path) -> None:
    """`project` is a folder of rudder-cli, `plan` names one of several; a wrong name is reported with its position."""
    write(tmp_path / "plans", PROJECT)
    text = "trackingPlans: {web: {project: plans, plan: PLAN}}"
    (tmp_path / "right.yaml").write_text(text.replace("PLAN", "shop"))
    (tmp_path / "wrong.yaml").write_text(text.replace("PLAN", "shp"))

    item = Workspace.load(tmp_path / "right.yaml").tracking_plans["web"]
    with pytest.raises(InvalidWorkspace, match=r"wrong.yaml:1:45: .*'shp'"):
        Workspace.load(tmp_path / "wrong.yaml")

    assert item.chosen.name == "Shop"


def test_svc_env_is_the_default_environment(tmp_path: Path) -> None:
    """`environment=""` ignores it; a workspace loaded for an environment has no further environments."""
    path = tmp_path / "workspace.yaml"
    path.write_text("sources: {web: {writeKey: dev}}\nenvironments: {prod: {sources: {web: {writeKey: live}}}}\n")
    variable = {"SVC_ENV": "prod"}

    default = Workspace.load(path, environ=variable)
    unlayered = Workspace.load(path, environ=variable, environment="")

    assert (default.sources["web"].write_key, unlayered.sources["web"].write_key) == ("live", "dev")
    assert ([*default.environments], [*unlayered.environments]) == ([], ["prod"])


def test_an_unreadable_code_file_is_a_problem(tmp_path: Path):
    """At the reference to it, with the reason."""
    (tmp_path / "t.py").write_bytes(b"x = '\xff'")
    (tmp_path / "folder.js").mkdir()
    text = "transformations: {t: {file: t.py}, u: {file: folder.js}, v: {file: 'a\\0b.py'}}".replace("'", '"')

    found = problems(text, folder=tmp_path)

    assert re.match(r"1:29: cannot read .*t\.py: not UTF-8", found[0])
    assert found[1].endswith("folder.js: no such file")
    assert found[2].endswith("no such file")


def test_objects_are_checked_like_files():
    """With dotted paths; no other exception is raised."""
    workspace = Workspace("w")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": 3, "headerz": []})
    web = workspace.source("web", destinations=["hook"])
    web.connections.append(Connection("hok"))
    workspace.destination("hook").transformation = "nope"
    workspace.sources["b"] = Source("c", "web", "B", write_key="")
    workspace.delivery = Delivery("lve", timeout=0)
    workspace.users = [Person("a:b", "")]

    assert [str(problem) for problem in workspace.problems()] == [
        "sources.b: listed under 'b', but its key is 'c'",
        "sources.b.id: source 'web' already has the id 'web'",
        "sources.b.writeKey: the write key is empty",
        "sources.web.destinations.1.destination: unknown destination 'hok'. Did you mean 'hook'?",
        "destinations.hook.transformation: unknown transformation 'nope'.",
        "destinations.hook.config.headerz: WEBHOOK has no configuration variable 'headerz'. Did you mean 'headers'?",
        "destinations.hook.config.webhookUrl: webhookUrl: expected a string, got a number",
        "users.0.email: an e-mail address must not contain a colon",
        "users.0.token: a hashed token is 'sha256:' and 64 hexadecimal digits",
        "delivery.mode: must be one of cassette, live, record. Did you mean 'live'?",
        "delivery.timeout: must be more than 0 and at most 86400 seconds",
    ]
    with pytest.raises(InvalidWorkspace, match="listed under"):
        workspace.check()
    with pytest.raises(UnknownName, match="unknown destination 'hok'"):
        workspace.destinations_of(web)


def test_a_consistent_workspace_has_no_problems(shop: Workspace):
    """`check` accepts it."""
    shop.transformation("local", lambda event: event)

    assert shop.problems() == []
    assert shop.check() is None


def configuration(**changes: Any) -> dict[str, Any]:
    """A RudderStack workspace configuration with two sources that share a destination."""
    hook = {
        "id": "d1",
        "name": "Local hook!",
        "enabled": True,
        "config": {"webhookUrl": "http://127.0.0.1:9099/hook", "new": "$(env:X)"},
        "transformations": [{"versionId": "v1", "id": "t1", "config": {}}],
        "destinationDefinition": {"name": "WEBHOOK", "displayName": "Webhook", "category": None},
        "isConnectionEnabled": True,
    }
    gone = {**hook, "id": "d2", "deleted": True}
    other = {**hook, "id": "d3", "transformations": [], "isConnectionEnabled": None, "enabled": False}
    source = {"id": "s1", "name": "Dev", "writeKey": "w1", "enabled": True, "deleted": False}
    definition = {"name": "Cordova", "type": "cordova", "options": None}
    return {
        "workspaceId": "ws1",
        "sources": [
            {**source, "destinations": [hook, gone, other], "sourceDefinition": definition},
            {**source, "id": "s2", "writeKey": "w2", "destinations": [{**hook, "isConnectionEnabled": False}]},
            {**source, "id": "s3", "deleted": True, "destinations": []},
        ],
        "connections": {"c1": {"sourceId": "s1", "destinationId": "d3", "enabled": False, "config": {}}},
        "libraries": [{"versionId": "l1"}],
        "somethingNew": {"a": [1]},
        **changes,
    }


def test_rudderstacks_json_can_be_loaded(tmp_path: Path):
    """Shared destinations are one, deleted ones are left out."""
    (tmp_path / "workspace_config.json").write_text(json.dumps(configuration(), indent=1))

    with pytest.warns(WorkspaceWarning, match="WEBHOOK has no configuration variable 'new'"):
        found = Workspace.load(tmp_path / "workspace_config.json", environ={})

    assert found.name == "ws1"
    assert {key: s.id for key, s in found.sources.items()} == {"dev": "s1", "dev-2": "s2"}
    assert [s.type for s in found.sources.values()] == ["cordova", "http"]
    assert {key: d.id for key, d in found.destinations.items()} == {"local-hook": "d1", "local-hook-2": "d3"}
    assert found.source("dev").connections == [Connection("local-hook"), Connection("local-hook-2", enabled=False)]
    assert found.source("dev-2").connections == [Connection("local-hook", enabled=False)]
    assert found.destination("d1").type == "WEBHOOK"
    assert found.destination("d1").config["new"] == "$(env:X)"
    assert found.transformation("t1") == Transformation("t1", "t1", "t1", None, version_id="v1")
    assert found.libraries == {"l1": Library("l1", None, version_id="l1")}


def test_unknown_parts_are_kept_with_a_warning(tmp_path: Path):
    """Unknown types, variables and unsuitable values reject no workspace: all are reported together, and kept."""
    shape = configuration()
    hook = shape["sources"][0]["destinations"][0]
    odd = {**hook, "id": "odd", "name": "Odd", "destinationDefinition": {"name": "WEBHOK"}}
    value = {**hook, "id": "wrong", "name": "Wrong", "config": {"webhookUrl": 3, "webhookUlr": "x"}}
    shape["sources"][0]["destinations"] += [odd, value]
    file = tmp_path / "workspaceConfig.json"
    file.write_text(json.dumps(shape, indent=1))

    with pytest.warns(WorkspaceWarning) as warned:
        workspace = Workspace.load(file, environ={})
    workspace.save(tmp_path / "workspace.yaml")
    with pytest.warns(WorkspaceWarning):
        again = Workspace.load(tmp_path / "workspace.yaml", environ={})

    text = str(warned[0].message)
    assert len(warned) == 1
    assert "unknown destination type 'WEBHOK'. Did you mean 'WEBHOOK'?" in text
    assert "WEBHOOK has no configuration variable 'webhookUlr'. Did you mean 'webhookUrl'" in text
    assert "webhookUrl: expected a string, got a number" in text
    assert all(re.match(r".*workspaceConfig\.json:\d+:\d+: ", line) for line in text.splitlines())
    assert again.destination("odd").type == "WEBHOK"
    assert (again.destinations, again.sources) == (workspace.destinations, workspace.sources)
    with pytest.raises(InvalidWorkspace) as refused:
        Workspace.load(file, environ={}, strict=True)
    assert str(refused.value) == text
    with pytest.raises(InvalidConfig, match="webhookUrl"):
        Pipeline(workspace).test_destination("wrong", {"type": "track", "event": "e"})


def test_a_namespace_may_have_several_workspaces(tmp_path: Path):
    """The only workspace of a namespace's configuration is used; several are ambiguous. Null means unchanged."""
    shape = {**configuration(), "sources": []}
    file = tmp_path / "namespace.json"
    file.write_text(json.dumps({"ws0": None, "ws1": shape}))

    assert Workspace.load(file).name == "ws1"
    file.write_text(json.dumps({"ws1": shape, "ws2": shape}))
    with pytest.raises(InvalidWorkspace, match=r"holds 2 workspaces: ws1, ws2\. `svctoolkit import"):
        Workspace.load(file)
    file.write_text(json.dumps({"ws1": {**shape, "sources": [{"id": 3}]}}, indent=1))
    with pytest.raises(InvalidWorkspace, match=r"namespace\.json:\d+:\d+: 'id' must be a string"):
        Workspace.load(file)


def test_rudderstacks_json_can_be_saved_as_yaml():
    """Including references to code."""
    config = configuration()
    for source in config["sources"]:
        for destination in source["destinations"]:
            destination["config"] = {"webhookUrl": "x", "headers": [{"from": "a", "to": "s3cr3t-$(env:X)"}]}
    found = Workspace.loads(json.dumps(config), environ={})
    text = found.dumps()

    assert "s3cr3t" not in text
    names = re.findall(r"\$\(env:(\w+)\)", text)
    assert names
    assert Workspace.loads(text, environ=dict.fromkeys(names, "s3cr3t-$(env:X)")) == found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sources": [{"id": 3}]}, ["'id' must be a string, not 3", "needs 'writeKey'"]),
        ({"sources": [3]}, ["item 1 of 'sources' must be an object, not 3"]),
        ({"connections": []}, ["'connections' must be an object, not a list"]),
        (
            {"sources": [{"id": "a", "writeKey": "w"}, {"id": "a", "writeKey": "w"}]},
            ["source 'a' already has the id 'a'", "source 'a' has the same write key"],
        ),
    ],
)
def test_mistakes_in_rudderstacks_json_have_positions(changes: dict[str, Any], said: list[str]):
    """Wrong types and duplicate ids."""
    found = problems(json.dumps(configuration(**changes), indent=1))

    assert len(found) == len(said)
    assert all(re.match(r"\d+:\d+: ", problem) for problem in found)
    assert all(any(part in problem for problem in found) for part in said)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*path, step))


WRONG = st.sampled_from(
    [None, True, 3, -1.5, 10**40, 1e300, "", "x", "\0", [], [None], {}, {"x": 1}, [{}], "$(env:", "$(env:A)"]
)


@pytest.mark.filterwarnings("ignore::svctoolkit.errors.UnsetVariables")
@settings(max_examples=up_to(100), deadline=None)
@given(st.data())
def test_any_value_gives_a_workspace_or_problems(data: st.DataObject):
    """With positions, never another error."""
    base = data.draw(st.sampled_from([yaml.safe_load(SHOP), configuration()]))
    for _ in range(data.draw(st.integers(1, 3))):
        *owners, last = data.draw(st.sampled_from([p for p in paths(base) if p]))
        owner = base
        for step in owners:
            owner = owner[step]
        match data.draw(st.sampled_from(["replace", "remove", "rename"])):
            case "replace":
                owner[last] = deepcopy(data.draw(WRONG))
            case "remove":
                owner.pop(last)
            case "rename" if isinstance(owner, dict):
                owner[f"{last}x"] = owner.pop(last)
    places = ["w:1:1"]
    try:
        Workspace.loads(json.dumps(base), name="w", environ={})
    except InvalidWorkspace as error:
        places = [problem.where for problem in error.problems if problem.message != "more problems are not listed"]

    assert all(re.fullmatch(r"w:\d+:\d+", place) for place in places)


@settings(max_examples=up_to(200), deadline=None)
@given(
    st.integers(0, len(SHOP)),
    st.sampled_from(["", "\t", "\0", "\n", "{", "]", "'", ":", "- ", "&a", "*a", "!x", "\r", "é", "\ud83d"]),
    st.integers(0, 30),
)
def test_any_damage_gives_a_workspace_or_problems(at: int, new: str, cut: int):
    """For a file damaged anywhere."""
    places = ["w:1:1"]
    try:
        Workspace.loads(SHOP[:at] + new + SHOP[at + cut :], name="w", environ=ENVIRON)
    except InvalidWorkspace as error:
        places = [problem.where for problem in error.problems]

    assert all(re.fullmatch(r"w:\d+:\d+", place) for place in places)


def test_an_unknown_account_is_a_problem_with_its_place():
    """Accounts have only keys; it was an internal error as soon as there were any."""
    text = "accounts: {main: {secret: {}}}\ndestinations: {hook: {type: BQSTREAM, account: mian}}"

    assert "2:48: unknown account 'mian'. Did you mean 'main'?" in problems(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "sources:\n" + "".join(f"  s{i}:\n    id: x\n    destinations:\n    - nope{i}\n" for i in range(12_500)),
        "destinations:\n" + "".join(f"  d{i}:\n    tipe: X\n    enabled: no\n    config: 1\n" for i in range(12_500)),
        "destinations:\n"
        + "".join(f"  d{i}:\n    type: WEBHOK\n    transformation: x\n    name: a\n" for i in range(12_500)),
        "sources:\n" + "\n".join(f"  s{i}: {{}}" for i in range(50_000)) + "\n  s5: {}",
        json.dumps(configuration(sources=[{"id": "a", "writeKey": "w"}] * 12_500), indent=0),
        "users: [*a]\n" * 50_000,
    ],
    ids=["dangling", "misfits", "types", "duplicate key", "service", "aliases"],
)
def test_large_invalid_files_are_rejected_quickly(text: str):
    """50,000 wrong lines take seconds, and the first hundred problems are reported.

    One second alone, more in a process with much garbage to collect.
    """
    with within(4):
        found = problems(text)

    assert len(found) <= 101


def test_a_display_shows_states_but_no_secrets(shop: Workspace):
    """Sources, destinations and their states; never a key, token or setting, nor foreign markup."""
    shop.destination("spare").name = "<b>Spare</b>"
    shop.destination("alone", "WEBHOOK", config={"webhookUrl": "https://alone.example"})

    shown = shop._repr_mimebundle_()

    assert shown["text/plain"].splitlines() == [
        "Workspace 'shop', delivery mode record",
        "├── web (Web, web)",
        "│   ── hook (Orders hook, WEBHOOK, through clean)",
        "│   ─✕ spare (<b>Spare</b>, WEBHOOK, disabled)",
        "├── app (app, http)",
        "├── no source",
        "│   ── alone (alone, WEBHOOK)",
    ]
    assert "&lt;b&gt;Spare&lt;/b&gt;" in shown["text/html"]
    assert shown["text/html"].count("<tr>") == 5
    for text in (*shown.values(), repr(shop)):
        assert not re.search("wk1|t0ken|sha256|hook.example|alone.example", text)


def test_settings_of_the_data_plane_are_loaded_and_saved(tmp_path: Path) -> None:
    """Back-off, concurrency, deduplication window, retention and `lenient`."""
    text = """\
workspace: shop
delivery:
  profile: production
  backoff: {attempts: 5, maxRetryAfter: 60}
  concurrency: 2
dataPlane: {lenient: true, dedupWindow: 60, retention: {events: 10, seconds: 3600}, limits: {body: 2048, changes: 7}}
"""
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    loaded = Workspace.load(tmp_path / "w.yaml")
    loaded.save(tmp_path / "again.yaml")
    again = Workspace.load(tmp_path / "again.yaml")

    assert (loaded.delivery.profile, loaded.delivery.concurrency) == ("production", 2)
    assert loaded.delivery.backoff == {"attempts": 5, "max_retry_after": 60}
    assert (loaded.data_plane.lenient, loaded.data_plane.dedup_window) == (True, 60)
    assert (loaded.data_plane.events, loaded.data_plane.seconds) == (10, 3600)
    assert loaded.data_plane.limits == PlaneLimits(body=2048, changes=7)
    assert (again.delivery, again.data_plane) == (loaded.delivery, loaded.data_plane)


def test_arguments_of_the_wrong_type_are_refused_at_once() -> None:
    """And not when the first event fails, or as a destination whose name is one letter."""
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})

    with pytest.raises(InvalidWorkspace, match="'clean': expected a function, got text; pass source code as code="):
        workspace.transformation("clean", "def transformEvent(event, metadata): return event")  # type: ignore[arg-type]
    with pytest.raises(InvalidWorkspace, match="'clean': expected a function, got dict"):
        workspace.transformation("clean", {})  # type: ignore[arg-type]
    with pytest.raises(InvalidWorkspace, match=r"'web': destinations must be a list, such as \['hook'\]"):
        workspace.source("web", destinations="hook")

    assert not workspace.transformations
    assert not workspace.sources
