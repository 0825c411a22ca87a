"""`python -m tests.mutants MODULE`: a sample of changes to a module, and which of them the tests detect."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.changes import Change, changes

ROOT = Path(__file__).parents[2]
#: the parts of the repository that the tests need
NEEDED = ("svctoolkit", "tests", "suites", "notebooks", "findings", "pyproject.toml", "README.md", "LICENSE", ".github")
#: folder or module of the package -> its tests; the longest match counts
ABOUT = {
    "": ["tests"],
    "__main__": ["tests/test_cli.py"],
    "accepted": ["tests/replay/test_review.py", "tests/mutation/test_ratchet.py"],
    "apply": ["tests/rudder_cli/test_changes.py"],
    "agents": ["tests/test_agents.py", "tests/test_no_secret_shows.py"],
    "accessor": ["tests/notebooks/test_accessor.py"],
    "causes": ["tests/test_causes.py", "tests/test_mapping.py"],
    "cli": ["tests/test_cli.py"],
    "cli._site": ["tests/test_site.py"],
    "client": ["tests/test_client.py", "tests/data_plane/test_client_faults.py"],
    "client.conformance": ["tests/test_conformance.py"],
    "conditions": ["tests/replay/test_gates.py", "tests/replay/test_decisions.py"],
    "destinations._deletions": ["tests/deletions/test_requests.py"],
    "server.regulations": ["tests/deletions/test_regulations.py"],
    "delivery": ["tests/test_delivery.py", "tests/test_network_policy.py", "tests/test_pipeline.py"],
    "delivery._request": ["tests/test_delivery.py"],
    "delivery.cassette": ["tests/data_plane/test_cassette.py", "tests/test_delivery.py"],
    "destinations": [
        "tests/test_destinations.py",
        "tests/test_endpoint.py",
        "tests/test_own_destination.py",
        "tests/test_definitions.py",
    ],
    "destinations._endpoint": ["tests/test_endpoint.py"],
    "destinations.fidelity": ["tests/test_fidelity.py"],
    "display": ["tests/notebooks/test_display.py", "tests/notebooks/test_rich_display.py"],
    "displayed": ["tests/notebooks/test_display.py", "tests/notebooks/test_rich_display.py"],
    "edits": ["tests/mutation", "tests/imports"],
    "errors": ["tests/test_front_door.py", "tests/test_failures.py", "tests/test_cli.py"],
    "durations": ["tests/suites/test_options.py", "tests/test_forward.py"],
    "events": ["tests/test_events.py", "tests/data_plane/test_any_event.py"],
    "git": ["tests/suites/test_inputs.py", "tests/mutation/test_ratchet.py"],
    "inputs": ["tests/suites/test_inputs.py"],
    "interrupts": ["tests/notebooks/test_magics.py", "tests/data_plane/test_control.py"],
    "json_codec": ["tests/data_plane/test_any_event.py", "tests/replay/test_honest.py"],
    "json_types": ["tests/test_layers.py"],
    "lexical": ["tests/bounded_time/test_patterns.py", "tests/test_mapping.py"],
    "magics": ["tests/notebooks/test_magics.py"],
    "mapping": ["tests/test_mapping.py", "tests/test_destinations.py"],
    "mapping.table": ["tests/test_mapping.py"],
    "lost": ["tests/simulations/test_lost.py"],
    "mutation": ["tests/mutation"],
    "patterns": ["tests/bounded_time/test_patterns.py"],
    "encoded_emails": ["tests/test_policies.py", "tests/test_personal.py"],
    "number_forms": ["tests/test_policies.py", "tests/test_personal.py"],
    "personal": ["tests/test_personal.py"],
    "pipeline": [
        "tests/test_pipeline.py",
        "tests/test_stage_rules.py",
        "tests/test_results.py",
        "tests/test_lineage.py",
        "tests/test_server.py",
    ],
    "pipeline.run": [
        "tests/test_pipeline.py",
        "tests/test_stage_rules.py",
        "tests/test_results.py",
        "tests/warehouse/test_product.py",
        "tests/data_plane/test_routing.py",
    ],
    "plans": ["tests/plans"],
    "history": ["tests/test_history.py"],
    "policies": ["tests/test_policies.py", "tests/test_whole_policies.py"],
    "pictures": ["tests/test_pictures.py"],
    "profile": ["tests/test_profile.py"],
    "project": ["tests/test_import.py", "tests/test_cli.py"],
    "pytest_plugin": ["tests/test_pytest_plugin.py"],
    "readings": ["tests/test_policies.py", "tests/test_personal.py"],
    "registry": ["tests/test_own_destination.py", "tests/test_own_types.py", "tests/test_runner_matchers.py"],
    "releases": ["tests/test_pictures.py", "tests/replay/test_cli_replay.py"],
    "replay": ["tests/replay"],
    "results": ["tests/test_results.py", "tests/test_failures.py", "tests/test_arrow.py", "tests/test_pipeline.py"],
    "prometheus": ["tests/sdk/test_operate.py"],
    "retries": ["tests/test_client.py", "tests/sdk/test_faults.py", "tests/data_plane/test_delivery.py"],
    "rudder_cli": ["tests/rudder_cli"],
    "runner": ["tests/test_runner_matchers.py", "tests/test_runner.py", "tests/test_runner_format.py", "tests/suites"],
    "runner.attempts": [
        "tests/suites/test_steps.py",  # first what notices most, and quickly
        "tests/test_runner.py",
        "tests/test_runner_send.py",
        "tests/test_runner_reports.py",
        "tests/suites",
        "tests/data_plane/test_expect.py",
        "tests/simulations/test_suites.py",
        "tests/warehouse/test_suites.py",
        "tests/plans/test_suites.py",
    ],
    "runner.attempts.held": ["tests/simulations/test_suites.py"],
    "expect": [
        "tests/test_runner_matchers.py",
        "tests/plans/test_suites.py",
        "tests/test_docs.py",
        "tests/test_runner.py",
        "tests/test_runner_format.py",
        "tests/suites/test_false_passes.py",
        "tests/suites/test_helpers.py",
    ],
    "runner.report": ["tests/test_runner_reports.py", "tests/suites/test_page.py"],
    "sdk": ["tests/sdk"],
    "sdk.engine": ["tests/sdk/test_engine.py", "tests/sdk"],  # first what notices most, and quickly
    "sdk.queue.claims": ["tests/sdk/test_claims.py"],
    "secrets": ["tests/test_secrets.py", "tests/test_no_secret_shows.py"],
    "server": ["tests/test_server.py", "tests/data_plane"],
    "server.store": [
        "tests/data_plane/test_records.py",
        "tests/data_plane/test_store.py",
        "tests/data_plane/test_inspect.py",
        "tests/data_plane/test_newest.py",
        "tests/data_plane/test_overview.py",
        "tests/data_plane/test_batches.py",
        "tests/data_plane/test_plans.py",
    ],
    "server.worker": [
        "tests/data_plane/test_waiting.py",
        "tests/data_plane/test_verdicts.py",
        "tests/data_plane/test_feed.py",
        "tests/data_plane/test_changes.py",
        "tests/data_plane/test_batches.py",
        "tests/data_plane/test_delivery.py",
        "tests/data_plane/test_routing.py",
        "tests/data_plane/test_plans.py",
        "tests/data_plane/test_knobs.py",
        "tests/data_plane/test_memory.py",
        "tests/data_plane/test_store.py",
        "tests/warehouse/test_product.py",
    ],
    "simulations": ["tests/simulations"],
    "sources": ["tests/sources"],
    "sqlite": ["tests/data_plane/test_store.py", "tests/sdk/test_durability.py"],
    "testcontainers": ["tests/test_containers.py"],
    "transformations": ["tests/test_transformations.py", "tests/test_user_code.py"],
    "url_secrets": ["tests/test_secrets.py", "tests/test_no_secret_shows.py"],
    "warehouse": ["tests/warehouse"],
    "warehouse.rows": [
        "tests/warehouse/test_rows.py",
        "tests/warehouse/test_losses.py",
        "tests/warehouse/test_change.py",
    ],
    "widgets": ["tests/notebooks"],
    "workspace": ["tests/test_workspace.py", "tests/test_environments.py", "tests/test_import.py"],
    "workspace._build": ["tests/test_workspace.py"],
    "workspace._load": ["tests/test_workspace.py"],
    "yamlfile": ["tests/test_yamlfile.py"],
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="+", type=Path, metavar="MODULE", help="a file or a folder of the package")
    parser.add_argument("--tests", nargs="+", help="the tests to run (default: those about the module)")
    parser.add_argument("--sample", type=int, default=40, metavar="N", help="how many changes to try (default: 40)")
    parser.add_argument("--seed", type=int, default=0, help="another number gives another sample")
    parser.add_argument("--at-least", type=float, default=85.0, metavar="PERCENT", help="fail under this share")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="how many at a time (default: 2)")
    options = parser.parse_args(argv)
    sample = choose(list(candidates(options.modules)), options.sample, random.Random(options.seed))
    tests = options.tests or tests_about(options.modules)
    with copies(options.workers) as folders:
        limit = baseline(folders[0], tests)
        print(f"{len(sample)} changes against {' '.join(tests)}", flush=True)
        survivors = 0
        for file, change in run(sample, tests, folders, limit):
            survivors += 1
            print(f"  not noticed  {file}:{change}", flush=True)
    share = 100 * (1 - survivors / len(sample))
    print(f"{share:.0f}% noticed: {len(sample) - survivors} of {len(sample)}")
    return 0 if share >= options.at_least else 1


def candidates(modules: Sequence[Path]) -> Iterator[tuple[Path, Change]]:
    """Every change to every file, each with the file's path in the repository."""
    for module in modules:
        files = sorted(module.rglob("*.py")) if module.is_dir() else [module]
        for file in files:
            inside = file.resolve().relative_to(ROOT)
            yield from ((inside, change) for change in changes(file.read_bytes()))


def choose(all_changes: list[tuple[Path, Change]], most: int, chance: random.Random) -> list[tuple[Path, Change]]:
    """A sample, in the order of the source."""
    if not all_changes:
        raise SystemExit("there is nothing to change")
    return [all_changes[i] for i in sorted(chance.sample(range(len(all_changes)), min(most, len(all_changes))))]


def rooms() -> list[str]:
    """The top-level packages and modules."""
    names = (
        file.stem for file in (ROOT / "svctoolkit").iterdir() if file.suffix == ".py" or (file / "__init__.py").exists()
    )
    return sorted(name for name in names if name != "__init__")


def tests_about(modules: Sequence[Path]) -> list[str]:
    """The tests of the longest entry in `ABOUT` that matches each module."""
    tests: dict[str, None] = {}
    for module in modules:
        dotted = ".".join(module.resolve().relative_to(ROOT / "svctoolkit").with_suffix("").parts)
        best = max((about for about in ABOUT if f"{dotted}.".startswith(f"{about}.") or not about), key=len)
        tests |= dict.fromkeys(ABOUT[best])
    return list(tests)


@contextmanager
def copies(number: int) -> Iterator[list[Path]]:
    """Copies of the repository to change, with the bytecode of unchanged files. The checkout is never touched."""
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary) / str(i) for i in range(number)]
        for folder in folders:
            folder.mkdir()
            for name in NEEDED:
                source = ROOT / name
                if source.is_dir():
                    # Bytecode is written to another name first, which may be gone when it is copied.
                    shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("*.pyc.*", "node_modules"))
                elif source.exists():
                    shutil.copy(source, folder / name)
        yield folders


def baseline(folder: Path, tests: Sequence[str]) -> float:
    """The time limit for the tests. Ends the program if they fail without any change."""
    began = time.monotonic()
    code, output = pytest(folder, tests, 1800)
    if code:
        raise SystemExit(f"the tests fail without any change:\n{output[-2000:]}")
    return 30 + 3 * (time.monotonic() - began)


def run(
    sample: Sequence[tuple[Path, Change]], tests: Sequence[str], folders: Sequence[Path], limit: float
) -> Iterator[tuple[Path, Change]]:
    """Yield each change that the tests do not detect, as soon as it is known."""
    free: SimpleQueue[Path] = SimpleQueue()
    for folder in folders:
        free.put(folder)

    def survives(item: tuple[Path, Change]) -> bool:
        file, change = item
        folder = free.get()
        source = (folder / file).read_bytes()
        try:
            (folder / file).write_bytes(change.apply(source))
            return pytest(folder, tests, limit)[0] == 0
        finally:
            (folder / file).write_bytes(source)
            free.put(folder)

    with ThreadPoolExecutor(len(folders)) as threads:
        yield from (item for item, alive in zip(sample, threads.map(survives, sample), strict=True) if alive)


def pytest(folder: Path, tests: Sequence[str], limit: float) -> tuple[int, str]:
    """Exit code and output of the tests in a copy, up to the first failure. A run over the limit counts as failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environ = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # including the servers and workers that its tests have started
        process.communicate()
        return 1, "over the time limit"
    return process.returncode, output


if __name__ == "__main__":
    sys.exit(main())
