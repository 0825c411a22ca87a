"""Workers are forks of a template that has seen no code: what starts, what they share, and how all of them end."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import transformations
from svctoolkit.cli import main
from svctoolkit.transformations import Limits, Output, Pool, _launch, _template, template_problem

if not sys.platform.startswith("linux"):
    pytest.skip("reads /proc", allow_module_level=True)

LANGUAGES = ("javascript", "python")
SAME = {
    "javascript": "export const transformEvent = (e) => e",
    "python": "def transformEvent(e, m): return e",
}


@pytest.fixture
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    """Four workers of the language that the test names, for this test alone."""
    made = Pool(request.getfixturevalue("language"), 4)
    yield made
    made.close()


@pytest.fixture
def own_template() -> Iterator[None]:
    """Neither templates nor failures of other tests, and none left for them."""
    _template.close()
    kept, _template._templates = _template._templates, _template._Templates()
    yield
    _template.close()
    _template._templates = kept


def run(code: str, workers: Pool, scope: str = "", **options: Any) -> list[Output]:
    loaded = transformations.load(code, workers.language, workers=workers, scope=scope, **options)
    return loaded.run([{"n": 1}], [{}])


def fields(process: int) -> dict[str, str]:
    """The status of a process, as the kernel shows it."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def template_of(workers: Pool) -> int:
    """The process that the workers of a pool are forks of."""
    parents = {int(fields(worker.id)["PPid"]) for worker in workers._free}
    (template,) = parents
    return template


def has_ended(process: int) -> bool:
    """Whether a process ends in the next seconds."""
    try:
        watched = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    ended = bool(select.select([watched], [], [], 30)[0])
    os.close(watched)
    return ended


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_workspace_gets_a_fork_of_one_template(language: str, pool: Pool) -> None:
    """Three workspaces, three processes, one start of an interpreter, which this process has paid once."""
    before = len(children(os.getpid()))
    for scope in "abc":
        assert run(SAME[language], pool, scope)[0].events == ({"n": 1},)

    template = template_of(pool)
    assert len({worker.id for worker in pool._free}) == 3
    assert int(fields(template)["PPid"]) == os.getpid()
    assert len(children(os.getpid())) - before <= 1  # none if another test has started the template
    assert template_problem(language) == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_template_is_out_of_reach(language: str, pool: Pool) -> None:
    """No process can inspect it, its session is not that of a worker or the host, and it ignores Ctrl-C."""
    run(SAME[language], pool)
    template, worker = template_of(pool), pool._free[0].id

    sessions = {int(Path(f"/proc/{each}/stat").read_text().split()[5]) for each in (os.getpid(), template, worker)}
    assert len(sessions) == 3
    assert fields(template)["Threads"] == "1"
    assert fields(template)["NoNewPrivs"] == "1"
    if os.getuid():  # root may inspect any process
        with pytest.raises(PermissionError):
            Path(f"/proc/{template}/environ").read_bytes()
    os.kill(template, signal.SIGINT)
    run(SAME[language], pool, "other")
    assert template_of(pool) == template


OPEN = """
import errno, os
def transformEvent(event, metadata):
    found = []
    for descriptor in range(1024):
        try:
            os.lseek(descriptor, 0, os.SEEK_CUR)
        except OSError as error:
            if error.errno == errno.EBADF:
                continue
        found.append(descriptor)
    return {'found': found, 'environment': dict(os.environ)}
"""


@pytest.mark.parametrize("language", ["python"])
def test_code_finds_no_descriptor_of_the_template(language: str, pool: Pool) -> None:
    """Only standard streams and the channel of its own call, however many workers there are."""
    for scope in "abc":
        run(SAME[language], pool, scope)

    (output,) = run(OPEN, pool, "d")
    found = output.events[0]["found"]
    assert isinstance(found, list)
    assert (found[:3], len(found)) == ([0, 1, 2], 4)
    assert output.events[0]["environment"] == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_worker_has_no_descriptor_of_the_template(language: str, pool: Pool) -> None:
    """Only standard streams and its own channel."""
    for scope in "abc":
        run(SAME[language], pool, scope)

    try:
        opened = [len(os.listdir(f"/proc/{worker.id}/fd")) for worker in pool._free]
    except PermissionError:
        pytest.skip("only root can see the descriptors of a worker")
    assert opened == [4] * 3


PLACES = """
import ctypes, os
def transformEvent(event, metadata):
    return {'hash': hash('text'), 'library': ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value}
"""


def test_sandboxes_share_the_layout_of_memory_only_if_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The addresses and the seed of the hash are those of the template, unless each worker is a new process."""

    def places() -> int:
        pool = Pool("python", 4)
        seen = {json.dumps(run(PLACES, pool, scope)[0].events[0]) for scope in "abc"}
        pool.close()
        return len(seen)

    assert places() == 1
    monkeypatch.setenv("SVCTOOLKIT_FRESH_WORKERS", "1")
    assert places() == 3
    assert template_problem("python") == "SVCTOOLKIT_FRESH_WORKERS is set"


LEAVE = {
    "javascript": """
export const transformEvent = (e) => {
  const seen = [globalThis.left, Array.prototype.left, JSON.left, e.n];
  globalThis.left = Array.prototype.left = JSON.left = 'left';
  return { seen, random: Math.random() };
}""",
    "python": """
import builtins, json, os, random, sys, uuid
def transformEvent(e, m):
    seen = [getattr(builtins, 'left', None), getattr(json, 'left', None), 'left' in sys.modules, e['n']]
    builtins.left = json.left = 'left'
    sys.modules['left'] = json
    return {'seen': seen, 'random': [random.random(), str(uuid.uuid4())]}""",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_of_one_workspace_is_in_the_next(language: str, pool: Pool) -> None:
    """Each worker is as new as the first one, and draws other random numbers."""
    outputs = [run(LEAVE[language], pool, scope)[0].events[0] for scope in "abcd"]

    assert len({json.dumps(output["seen"]) for output in outputs}) == 1
    assert len({json.dumps(output["random"]) for output in outputs}) == 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_killed_template_is_replaced(language: str, pool: Pool, own_template: None) -> None:
    """Its workers end with it; the next call starts another one, and its caller does not notice."""
    loaded = transformations.load(SAME[language], language, workers=pool)
    for _ in range(_template._MAX_FAILURES + 1):
        template, worker = template_of(pool), pool._free[0].id
        os.kill(template, signal.SIGKILL)
        assert has_ended(worker)
        assert loaded.run([{"n": 1}], [{}])[0].events == ({"n": 1},)
        assert template_of(pool) != template
    assert template_problem(language) == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_call_goes_on_if_the_template_is_killed(language: str, pool: Pool, own_template: None) -> None:
    """The code is not to blame: its call runs again in a new worker."""
    code = {
        "javascript": "export let transformEvent = e => { for (let n = Date.now(); Date.now() - n < 500;); return e }",
        "python": "import time\ndef transformEvent(e, m):\n    time.sleep(0.5)\n    return e",
    }[language]
    loaded = transformations.load(code, language, workers=pool, limits=Limits(time=30))
    template = template_of(pool)
    kill = threading.Timer(0.1, os.kill, (template, signal.SIGKILL))
    kill.start()

    (output,) = loaded.run([{"n": 1}], [{}])
    kill.join()
    assert output.error is None
    assert template_of(pool) != template


def test_a_forked_host_uses_its_own_template() -> None:
    """Neither side disturbs the other, whichever ends first, and no process is left."""
    code = f"""
import os, select
from svctoolkit import transformations as t
codes = {SAME!r}
def run():
    for language, code in codes.items():
        assert t.load(code, language).run([{{}}], [{{}}])[0].error is None
        yield int(open(f"/proc/{{t._pool.pool(language)._free[0].id}}/stat").read().rpartition(")")[2].split()[1])
mine = list(run())
child = os.fork()
theirs = list(run())
if child == 0:
    t._pool.close(); t._template.close()
    print(set(mine).isdisjoint(theirs), flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert theirs == mine
for language in codes:  # their ends in the child are closed, so that the template reaps what this process ends
    t._pool.pool(language)._free[0].end()
left = [open(f"/proc/{{template}}/task/{{template}}/children").read() for template in mine]
print(left)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)

    assert done.stdout.splitlines() == ["True", "['', '']"], done.stderr


@pytest.mark.parametrize("how", ["exits", "is killed"])
def test_everything_ends_with_the_host(how: str) -> None:
    """Also a worker that loops, with a thread that is still waiting for it, and after SIGKILL."""
    code = f"""
import os, sys, threading, time
from svctoolkit import transformations as t
for language, code in {SAME!r}.items():
    t.load(code, language).run([{{}}], [{{}}])
loop = t.load("export const transformEvent = () => {{ for (;;); }}", "javascript", limits=t.Limits(time=600), scope="l")
threading.Thread(target=loop.run, args=([{{}}], [{{}}]), daemon=True).start()
while loop.workers._busy == {{}}: time.sleep(0.01)
print(os.getpid(), flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        host.stdout.readline()
        templates = children(host.pid)
        processes = templates + [worker for template in templates for worker in children(template)]
        if how == "is killed":
            host.kill()
        else:
            host.communicate("")
    assert len(templates) == 2
    assert len(processes) >= 5
    assert all(map(has_ended, processes))


def without_template(tmp_path: Path, instead: str) -> str:
    """A program like this interpreter; instead of a template it runs this shell command."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\ncase "$*" in *\'"template":true\'*) {instead};; esac\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return str(program)


#: runs a worker's script after a statement
AFTER = """exec {python} -c 'import runpy, sys; {statement}
at = next(n for n, word in enumerate(sys.argv) if word.endswith("main.py"))
sys.argv = sys.argv[at:]
runpy.run_path(sys.argv[0], run_name="__main__")' "$@" """


@pytest.mark.parametrize(
    ("instead", "why"),
    [
        ("echo no room >&2; exit 3", "no room"),
        ("kill -9 $$", "the template process ended (status -9)"),
        (AFTER.format(python=sys.executable, statement="import mmap; kept = mmap.mmap(-1, 4096)"), "writable memory"),
        (
            AFTER.format(
                python=sys.executable,
                statement="import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
            ),
            "a library has started a thread",
        ),
    ],
    ids=["fails", "killed", "shared memory", "thread"],
)
@pytest.mark.parametrize("language", ["python"])
def test_without_a_template_each_worker_is_a_new_process(
    language: str, instead: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_template: None
) -> None:
    """It does not start, or its forks would share something: code runs as before, and the reason is kept."""
    monkeypatch.setattr(sys, "executable", without_template(tmp_path, instead))
    workers = Pool(language, 1)
    for scope in range(_template._MAX_FAILURES + 1 if why == "no room" else 1):
        assert run(SAME[language], workers, str(scope))[0].events == ({"n": 1},)
        assert int(fields(workers._free[0].id)["PPid"]) == os.getpid()
    workers.close()

    assert why in template_problem(language)
    assert not any(template.alive for template in _template._templates._running.values())


def test_doctor_says_that_sandboxes_start_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own_template: None
) -> None:
    """With the reason, as a note: nothing essential is missing."""
    transformations._pool.close()
    monkeypatch.setattr(sys, "executable", without_template(tmp_path, "echo no room >&2; exit 3"))

    assert main(["doctor", "--trust-code"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for language in ("JavaScript", "Python"):
        text = "a transformation runs; each sandbox is a new process instead of a fork of a warm one: no room"
        assert f"– {language} code {text}" in said
    transformations._pool.close()


FIRST_CALL = f"""
import sys
from svctoolkit import transformations
assert transformations.load({SAME["javascript"]!r}, "javascript").run([{{}}], [{{}}])[0].error is None
print(*sys.modules)
"""
#: modules that take longer to import than they are worth before the first call
SLOW_HERE = {"concurrent.futures", "ctypes", "hashlib", "logging", "pathlib", "tempfile", "urllib.parse"}
SLOW_THERE = {"asyncio", "importlib.resources", "inspect", "logging", "pathlib", "platform", "threading", "typing"}


def test_the_first_call_imports_little() -> None:
    """Not what only some code needs: requests, frames, records of trust."""
    loaded = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True)
    assert set(loaded.stdout.split()) & SLOW_HERE == set()


@pytest.mark.parametrize("language", ["javascript"])
def test_a_worker_keeps_bytecode_like_its_host(
    language: str, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_template: None
) -> None:
    """Nothing else compiles its modules if the package is installed as editable. It writes none if the host may not."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    for forbidden in (True, False):
        monkeypatch.setattr(sys, "dont_write_bytecode", forbidden)
        _template.close()
        run(SAME[language], pool, str(forbidden))
        assert bool([*tmp_path.rglob("worker/stateless_javascript*.pyc")]) is not forbidden
    _template.close()


EARLY = """
import sys
started = []
def hook(event, arguments):
    if event == "subprocess.Popen" and '"template":true' in str(arguments):
        started.append("svctoolkit.server.plane" in sys.modules)
sys.addaudithook(hook)
from svctoolkit.cli import main
print(main(["run", "one.suite.yaml"]), started)
"""


def test_run_starts_the_template_before_it_imports_the_data_plane(tmp_path: Path) -> None:
    """As soon as it knows that there is code."""
    (tmp_path / "one.suite.yaml").write_text(f"""
sources: {{web: {{destinations: [hook]}}}}
destinations: {{hook: {{type: WEBHOOK, config: {{webhookUrl: https://hook.example/in}}, transformation: same}}}}
transformations: {{same: {{language: python, code: {json.dumps(SAME["python"])}}}}}
scenarios:
  - {{name: one, send: {{type: track, event: A, userId: u}}, expect: {{delivered: {{$length: 1}}}}}}
""")

    done = subprocess.run([sys.executable, "-c", EARLY], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "0 [False]", done.stdout + done.stderr


def test_the_template_of_javascript_imports_little() -> None:
    """What it needs, and not what the Python layers of its packages need."""
    folder = Path(transformations.__file__).with_name("worker")
    engine, packages = _launch.package_folders("javascript")
    code = f"""
import sys
sys.path.insert(0, {str(folder)!r})
import lock, process, template
process._engine({{"language": "javascript", "engine": {engine!r}, "packages": {packages!r}}})
print(*sys.modules)
"""
    loaded = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], capture_output=True, text=True, check=True)
    assert set(loaded.stdout.split()) & SLOW_THERE == set()
