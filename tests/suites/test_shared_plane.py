"""One data plane is shared by the tests of a session, and each test has it as if it were its own."""

from __future__ import annotations

import pytest
import yaml  # noqa: F401 - pytester forgets modules between runs, and the C parser does not survive that

from svctoolkit import DataPlane, Workspace

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest
from svctoolkit import Workspace

HOOK = "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}\\n"

@pytest.fixture(scope="session")
def workspace():
    return Workspace.loads(HOOK + "sources: {web: {writeKey: web-key, destinations: [hook]}}")

@pytest.fixture(scope="session")
def urls():
    return set()

@pytest.fixture
def send(data_plane, urls):
    def send(name="A", **more):
        return data_plane.send({"type": "track", "event": name, "userId": "u", "messageId": "m"}, source="web", **more)
    urls.add(data_plane.url)
    return send

@pytest.fixture
def is_fresh(data_plane):
    views = (data_plane.received, data_plane.deliveries, data_plane.fates, data_plane.rejected, data_plane.repeated)
    assert [len(rows) for rows in views] == [0] * 5
    assert data_plane.recorder.requests == () and data_plane.recorder.forgotten == 0
    assert data_plane.totals().received == data_plane.totals().rejected == 0
    assert data_plane.workspace.destinations["hook"].enabled
    return data_plane
"""


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Import everything that a data plane needs before pytester starts to forget modules."""
    text = "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}\n"
    with DataPlane(Workspace.loads(text + "sources: {web: {destinations: [hook]}}"), listen=False) as plane:
        plane.send({"type": "track", "event": "A", "userId": "u"}, source="web")
        plane.drain()


def outcome(pytester: pytest.Pytester, code: str) -> dict[str, int]:
    """The results of a test file that is run next to `CONFTEST`, in the order of its tests."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(code)
    return pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:xdist").parseoutcomes()


def test_every_test_finds_it_reset(pytester: pytest.Pytester) -> None:
    """The same messageId arrives in each test; counts, answers, switches and time are as at the start."""
    code = """
    import pytest
    from svctoolkit.delivery import Answer
    from svctoolkit.pytest_plugin import assert_delivered

    @pytest.mark.parametrize("n", range(3))
    def test_it(is_fresh, data_plane, send, recorder, n):
        send()
        assert_delivered(data_plane, {"body": {"event": "A"}})
        recorder.answer("*", Answer(400))
        data_plane.script("hook", Answer(401))
        send(run="r")
        data_plane.ingest("POST", "/v1/batch", headers={"authorization": "Basic eDo="}, body=b"{}")
        data_plane.drain()
        assert [d.status for d in data_plane.deliveries] == [200, 401]
        assert len(data_plane.of_run("r").deliveries) == len(data_plane.rejected) == 1
        data_plane.advance(3600)
        data_plane.watch(lambda kind, changes: seen.append(kind))()
        data_plane.watch(lambda kind, changes: seen.append(kind))
        data_plane.enable(destination="hook", enabled=False)

    seen = []

    def test_nothing_is_left(is_fresh, send, urls, data_plane):
        from datetime import datetime, timedelta, timezone
        seen.clear()
        send()
        data_plane.drain()
        assert data_plane.received[0].received_at - datetime.now(timezone.utc) < timedelta(minutes=1)
        assert seen == [] and len(urls) == 1
    """

    assert outcome(pytester, code) == {"passed": 4}


def test_late_events_of_earlier_tests_are_refused(pytester: pytest.Pytester) -> None:
    """A client that still sends gets 410, and no other test sees its events."""
    code = """
    import base64
    import httpx

    keys = []

    def post(data_plane, key, path="/v1/batch"):
        login = base64.b64encode(f"{key}:".encode()).decode()
        body = {"batch": [{"type": "track", "event": "A", "userId": "u"}]}
        return httpx.post(data_plane.url + path, json=body, headers={"authorization": f"Basic {login}"}).status_code

    def test_first(is_fresh, data_plane):
        keys.append(data_plane.write_key("web"))
        assert post(data_plane, keys[0]) == 200

    def test_second(is_fresh, data_plane):
        assert post(data_plane, keys[0]) == 410
        httpx.get(data_plane.url + "/pixel/v1/track", params={"writeKey": keys[0], "event": "E", "userId": "u"})
        assert len(data_plane.received) == len(data_plane.rejected) == 0
        assert post(data_plane, data_plane.write_key("web")) == post(data_plane, "web-key") == 200
        data_plane.drain()
        assert len(data_plane.delivered) == 2
    """

    assert outcome(pytester, code) == {"passed": 2}


def test_a_damaged_data_plane_is_replaced(pytester: pytest.Pytester) -> None:
    """One that a test stopped, or that has unfinished events, is not used again."""
    code = """
    def test_stops_it(is_fresh, data_plane):
        data_plane.stop()

    def test_leaves_events(is_fresh, data_plane, send):
        data_plane.enable(destination="hook", enabled=False)
        data_plane.workspace.destinations["hook"].enabled = True
        from svctoolkit.delivery import Answer
        data_plane.recorder.answer("*", Answer(delay=3))
        send()

    def test_is_served(is_fresh, data_plane, send, urls):
        send()
        data_plane.drain()
        assert len(data_plane.delivered) == 1 and len(urls) == 2
    """

    assert outcome(pytester, code) == {"passed": 3}


def test_each_test_has_its_own_workspace(pytester: pytest.Pytester) -> None:
    """A test's changes to its workspace take effect at once; its limits apply to that test only."""
    code = """
    import pytest
    from svctoolkit import Workspace

    TEXT = '''
    destinations: {d%(n)s: {type: WEBHOOK, config: {webhookUrl: https://d.example/in}}}
    sources: {web: {destinations: [d%(n)s]}}
    dataPlane: {lenient: %(lenient)s}
    '''

    @pytest.fixture(params=[(1, "true"), (2, "false"), (3, "true")])
    def workspace(request):
        return Workspace.loads(TEXT % dict(zip(("n", "lenient"), request.param)))

    def test_it(data_plane, workspace, request):
        n, lenient = request.node.callspec.params["workspace"]
        events = [{"type": "track", "event": "A", "userId": "u"}, {"type": "nonsense"}]
        assert data_plane.send(events, source="web").status == (200 if lenient == "true" else 400)
        workspace.destination("late", "WEBHOOK", config={"webhookUrl": "https://late.example/in"})
        workspace.source("app", destinations=["late"])
        data_plane.send(events[0], source="app")
        data_plane.drain()
        expected = ([f"d{n}"] if lenient == "true" else []) + ["late"]
        assert sorted(d.destination for d in data_plane.delivered) == expected
    """

    assert outcome(pytester, code) == {"passed": 3}


@pytest.mark.slow
def test_workers_of_xdist_have_separate_data_planes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parallel tests see nothing of each other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("n", range(20))
        def test_it(is_fresh, data_plane, send, urls, n):
            send(str(n))
            data_plane.drain()
            assert [d.request.body.count(b'"event":"%d"' % n) for d in data_plane.delivered] == [1]
            assert len(urls) == 1
        """
    )
    result = pytester.runpytest_subprocess("-p", "xdist", "-p", "svctoolkit.pytest_plugin", "-n2", "-W", "error")

    result.assert_outcomes(passed=20)
