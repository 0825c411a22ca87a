"""The format of a suite file as types, from which the schemas for checks and editors are generated."""

from svctoolkit.runner.suite.format.conditions import Always, CodeLosses, Freeze, Never, ScenarioFaults, Xfail
from svctoolkit.runner.suite.format.expect import Expect
from svctoolkit.runner.suite.format.recorder import RecorderAnswer, RecorderScript
from svctoolkit.runner.suite.format.scenario import Generate, Scenario, Step
from svctoolkit.runner.suite.format.suite import WORKSPACE_KEYS, PolicyFile, Suite, schema
from svctoolkit.runner.suite.format.values import seconds

__all__ = [
    "WORKSPACE_KEYS",
    "Always",
    "CodeLosses",
    "Expect",
    "Freeze",
    "Generate",
    "Never",
    "PolicyFile",
    "RecorderAnswer",
    "RecorderScript",
    "Scenario",
    "ScenarioFaults",
    "Step",
    "Suite",
    "Xfail",
    "schema",
    "seconds",
]
