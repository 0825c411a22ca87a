"""Every promise of the page about security has a test: a new sentence without one fails here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "svctoolkit" / "docs" / "security.md").read_text(encoding="utf-8")
SPELLINGS = "test_secret_spellings.py"
WEBHOOKS = f"{SPELLINGS}::test_a_header_of_a_webhook_is_secret_only_if_it_looks_like_a_credential"
TRUST = "test_trust.py"
INTRODUCES = "only introduces what follows, or says where to find more"
REPEATED = "test_transformations_sandbox.py::test_calls_in_one_process_leave_nothing_behind"
ONE_REALM = "test_transformations_sandbox.py::test_calls_in_one_realm_leave_nothing_behind"
WARM = "test_warm_sandboxes.py"
MEASURED = "a figure that `python -m tests.benchmarks transformations` measures"

#: The beginning of a sentence, list item or row of a table -> the tests that fail if it is not true.
PROMISES: dict[str, str | tuple[str, ...]] = {
    "What untrusted files can do": INTRODUCES,
    "| an event, a request": "data_plane/test_any_event.py::test_any_json_is_delivered_and_shown",
    "| the code of a transformation": "test_attacks.py::test_an_attack_gains_nothing",
    "| a workspace file, a suite": INTRODUCES,
    "| a notebook, a `conftest.py`": "test_own_types.py::test_untrusted_types_do_not_run",
    "Before you run a stranger's workspace": INTRODUCES,
    "A suite always runs in": (
        "suites/test_live.py::test_without_live_nothing_is_sent",
        "suites/test_live.py::test_a_live_scenario_reaches_the_service",
    ),
    "`.github/SECURITY.md`": INTRODUCES,
    "`svctoolkit doctor` lists what is missing": (
        "test_check.py::test_doctor_names_what_is_missing_and_too_old",
        "test_honest_layers.py::test_missing_layers_are_reported_once",
    ),
    "| Linux | ": TRUST + "::test_what_is_essential_depends_on_platform_and_language",
    "| macOS | ": TRUST + "::test_what_is_essential_depends_on_platform_and_language",
    "| Windows | ": TRUST + "::test_what_is_essential_depends_on_platform_and_language",
    "V8 gives code no access": (
        "test_attacks.py::test_an_attack_gains_nothing",
        TRUST + "::test_javascript_runs_without_layers_of_the_system",
    ),
    "The layers protect you": "test_transformations_sandbox.py::test_a_missing_layer_opens_nothing",
    "Where an essential layer is missing": TRUST
    + "::test_a_project_of_init_passes_without_seccomp_and_its_clone_is_refused_once",
    "`svctoolkit trust` records": TRUST + "::test_the_store_is_listed_and_entries_are_removed",
    "Known content then runs": TRUST + "::test_changed_code_is_named_as_changed",
    "`init`, `import` and `sync` record": (
        TRUST + "::test_a_project_of_init_passes_without_seccomp_and_its_clone_is_refused_once",
        TRUST + "::test_an_import_records_its_code",
    ),
    "Changed or foreign code is refused once": TRUST + "::test_every_command_refuses_foreign_code_once",
    "A library counts": TRUST + "::test_a_library_counts_as_code_of_what_imports_it",
    "Code inside a workspace": TRUST + "::test_code_inside_a_workspace_or_suite_is_trusted_with_that_file",
    "`svctoolkit trust --list`": TRUST + "::test_the_store_is_listed_and_entries_are_removed",
    "In Python, `workspace.trust()`": TRUST + "::test_a_notebook_gets_one_error_with_the_call",
    "The records are readable": TRUST + "::test_the_store_is_private",
    "Trusted code can do": INTRODUCES,
    "To trust everything": "test_user_code.py::test_trust_applies_to_one_command",
    "One call may use": "test_transformations_sandbox.py::test_an_exceeded_limit_is_a_clear_error",
    "Calls of one workspace": "test_shared_memory.py::test_calls_that_hold_memory_together_are_ended",
    "The sum is checked": "test_shared_memory.py::test_the_call_that_uses_most_fails_and_others_go_on",
    "`run`, `test`, `transform`": "test_honest_layers.py::test_missing_layers_are_reported_once",
    "| a command, pytest": "test_user_code.py::test_trust_applies_to_one_command",
    "| a workspace file | `limits": "test_user_code.py::test_a_workspace_file_can_trust_its_code",
    "| Python | `Limits": "test_honest_layers.py::test_code_runs_without_essential_layers_only_if_trusted",
    "| a process and what it starts": "test_honest_layers.py::test_code_runs_without_essential_layers_only_if_trusted",
    "A call is one event or one batch": "test_transformations_sandbox.py::test_state_lasts_for_one_call",
    "The events of a batch share": "test_transformations_sandbox.py::test_state_lasts_for_one_call",
    "Nothing else lasts": "test_transformations_sandbox.py::test_transformations_share_no_state",
    "| Python: ": MEASURED,
    "| JavaScript: ": MEASURED,
    "`python -m tests.benchmarks transformations`": MEASURED,
    "Code can leave nothing behind if": REPEATED,
    "Each call runs the module": "test_transformations_sandbox.py::test_state_lasts_for_one_call",
    "Code with anything else gets a process": ONE_REALM,
    "On systems without `fork`": "test_transformations_sandbox.py::test_the_slow_fallback_also_starts_fresh",
    "On Linux and macOS (untested), a process has one": WARM + "::test_each_workspace_gets_a_fork_of_one_template",
    "Each sandbox is a fork": WARM + "::test_each_workspace_gets_a_fork_of_one_template",
    "A fork first closes": (
        WARM + "::test_a_worker_has_no_descriptor_of_the_template",
        WARM + "::test_a_template_is_out_of_reach",
    ),
    "Then it starts V8": (
        "test_transformations_sandbox.py::test_the_kernel_confirms_the_locks",
        "test_transformations_sandbox.py::test_an_unlocked_worker_gets_no_code",
    ),
    "The template cannot be inspected": WARM + "::test_a_template_is_out_of_reach",
    "It ends with your process": WARM + "::test_everything_ends_with_the_host",
    "A template that is killed": (
        WARM + "::test_a_killed_template_is_replaced",
        WARM + "::test_a_call_goes_on_if_the_template_is_killed",
    ),
    "A fork has a private copy": WARM + "::test_nothing_of_one_workspace_is_in_the_next",
    "V8's heap is created": WARM + "::test_sandboxes_share_the_layout_of_memory_only_if_forked",
    "So code that exploits": WARM + "::test_sandboxes_share_the_layout_of_memory_only_if_forked",
    "That helps it only": INTRODUCES,
    "If that matters to you": WARM + "::test_sandboxes_share_the_layout_of_memory_only_if_forked",
    "If a template does not start": WARM + "::test_without_a_template_each_worker_is_a_new_process",
    "`svctoolkit doctor` says so": WARM + "::test_doctor_says_that_sandboxes_start_slowly",
    "On Windows it is always so": INTRODUCES,
    "settings that a destination type declares": "test_secrets.py::test_a_secret_is_masked_everywhere",
    "every value from `$(env:NAME)`": "test_no_secret_shows.py::test_no_object_shows_a_secret",
    "credentials, tokens of users": "test_every_output_is_masked.py::test_a_served_workspace_shows_no_secret",
    "in URLs: passwords": "test_masking_is_linear.py::test_tokens_in_the_fragment_of_a_url_are_masked",
    "headers such as `Authorization`": "test_client.py::test_headers_with_credentials_are_masked",
    "A header of a webhook": WEBHOOKS,
    "`X-Team: data`": WEBHOOKS,
    "**By place.**": SPELLINGS + "::test_a_word_is_masked_where_a_credential_belongs",
    "**By text.**": SPELLINGS + "::test_a_secret_is_found_in_every_spelling",
    "A secret of several lines": SPELLINGS + "::test_each_line_of_a_key_is_secret",
    "Each credential inside": SPELLINGS + "::test_a_credential_inside_a_secret_is_secret_itself",
    "If the sandbox truncates": SPELLINGS
    + "::test_the_beginning_of_a_secret_is_hidden_where_a_text_is_cut",
    "**Ordinary words": SPELLINGS + "::test_ordinary_words_are_never_masked",
    "If a setting has such a value": SPELLINGS + "::test_a_word_is_masked_where_a_credential_belongs",
    "A key is masked only if": SPELLINGS + "::test_a_key_is_masked_only_if_all_of_it_is_a_secret",
    "Snapshots contain": "test_runs_without_secrets.py::test_a_snapshot_of_any_type_does_not_depend_on_secrets",
    "Any value matches": "test_runs_without_secrets.py::test_a_snapshot_of_any_type_does_not_depend_on_secrets",
    "prints the file, line": "test_secrets_scan.py::test_a_secret_is_found_in_every_spelling",
    "The exit code is 1": "test_secrets_scan.py::test_a_secret_is_found_in_every_spelling",
    "It searches for the secrets of all": "test_secrets_scan.py::test_a_secret_in_the_workspace_file_is_found",
    "It lists the variables": "test_secrets_scan.py::test_clean_files_pass_and_the_notes_say_what_was_not_searched",
    "Text files and gzip": "test_secrets_scan.py::test_files_that_cannot_be_read_are_named",
    "All outputs go through": (
        "test_every_output_is_masked.py::test_no_display_shows_a_secret",
        "test_no_secret_shows.py::test_no_command_shows_a_secret",
        "test_no_secret_shows.py::test_no_cassette_keeps_a_secret",
    ),
    "Secrets that were removed": "test_every_output_is_masked.py::test_a_secret_removed_from_the_file_stays_masked",
    "Programs get what was sent": "test_docs.py::test_the_python_of_the_page_about_security_runs",
    "The tools of `svctoolkit mcp`": "test_no_secret_shows.py::test_no_tool_of_an_agent_shows_a_secret",
    "They send nothing in any delivery mode": (
        "test_agents.py::test_nothing_is_sent_in_any_mode",
        "test_agents.py::test_tools_stay_in_the_project",
    ),
    "A **write key is not secret**": "data_plane/test_console.py::test_the_page_has_code_with_the_write_key",
    "The access log omits it": (
        "data_plane/test_control.py::test_the_access_log_has_no_keys",
        "test_workspace.py::test_all_problems_are_reported_together",
    ),
    "**Files.**": (
        "sdk/test_keys.py::test_only_the_owner_may_read_the_file",
        "test_every_output_is_masked.py::test_a_served_workspace_shows_no_secret",
        "test_workspace.py::test_secrets_in_clear_text_are_saved_as_references",
    ),
    "`Workspace.save` writes": "test_workspace.py::test_secrets_in_clear_text_are_saved_as_references",
    "A secret in clear text": "test_docs.py::test_the_python_of_the_page_about_security_runs",
    "**Terminals, spreadsheets": (
        "test_output_is_data.py::test_printing_a_result_does_not_control_the_terminal",
        "test_no_secret_shows.py::test_output_is_safe_for_terminals_spreadsheets_and_workflows",
    ),
    "`::error::` at the start": "test_no_secret_shows.py::test_output_is_safe_for_terminals_spreadsheets_and_workflows",
    "A cell of a CSV report": "test_no_secret_shows.py::test_output_is_safe_for_terminals_spreadsheets_and_workflows",
    "Numbers, e-mail addresses": (
        "bounded_time/test_mappings.py::test_mapping_takes_linear_time",
        "test_masking_is_linear.py::test_urls_are_masked_in_linear_time",
    ),
    "An event that leads to more": "bounded_time/test_mappings.py::test_an_event_causes_a_limited_number_of_requests",
    "An event whose mapping": "bounded_time/test_watchdog.py::test_an_endless_mapping_is_dead",
    "`$regex` in a suite": (
        "bounded_time/test_user_patterns.py::test_a_pattern_of_a_suite_is_given_up",
        "bounded_time/test_user_patterns.py::test_a_pattern_in_settings_is_given_up",
    ),
    "Patterns of a tracking plan": "plans/test_check.py::test_a_pattern_takes_bounded_time",
    "A request whose target": (
        "test_output_is_data.py::test_a_target_without_a_path_is_a_bad_request",
        "test_output_is_data.py::test_an_ambiguous_length_is_a_bad_request",
    ),
    "Answers with a body": "test_output_is_data.py::test_answers_are_not_sniffed_or_loaded_by_other_pages",
    "Pages may not be framed": "test_output_is_data.py::test_answers_are_not_sniffed_or_loaded_by_other_pages",
    "Without credentials, `/inspect`": "test_output_is_data.py::test_other_pages_cannot_inspect",
    "The actions of CI": "test_supply_chain.py::test_actions_are_pinned_to_commits",
    "`pip-audit` and `npm audit`": "test_supply_chain.py::test_dependencies_are_audited_every_week",
    "A release contains": "test_supply_chain.py::test_a_release_has_a_bill_of_materials_and_attestations",
    "A build from source": "test_supply_chain.py::test_a_build_runs_no_scripts_of_packages",
}  # fmt: skip


def statements() -> list[str]:
    """The sentences, list items and rows of the page, without headings and code."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)):
        lines = block.strip().splitlines()
        if not lines or lines[0].startswith("#"):
            continue
        if lines[0].startswith("|"):
            found += lines[2:]
            continue
        for item in re.split(r"\n(?=- )", block.strip()):
            text = " ".join(item.split()).removeprefix("- ")
            found += re.split(r"(?<=[.!?])\s+(?=[A-Z`*$])", text)
    return found


def _promise(statement: str) -> str:
    """The longest beginning in the table that the statement has."""
    return max((start for start in PROMISES if statement.startswith(start)), key=len, default="")


def test_every_statement_is_listed() -> None:
    """A sentence that is not in the table needs a test, and an entry; one that is gone leaves the table."""
    assert [statement for statement in statements() if not _promise(statement)] == []
    assert set(PROMISES) - {_promise(statement) for statement in statements()} == set()


NAMED = {name for names in PROMISES.values() for name in ([names] if isinstance(names, str) else names)}


@pytest.mark.parametrize("name", sorted(name for name in NAMED if "::" in name))
def test_the_tests_exist(name: str) -> None:
    """A test that the table names exists."""
    file, _, function = name.partition("::")

    assert re.search(rf"^def {function}\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE)
