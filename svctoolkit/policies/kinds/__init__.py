"""Kinds of policies. To add one, add a module here that defines `kind`, or an entry point in this package's group."""

from __future__ import annotations

from svctoolkit.policies._contract import PolicyKind
from svctoolkit.registry import Registry

KINDS: Registry[PolicyKind] = Registry(
    PolicyKind, package=__name__, attribute="kind", what="kind of policy", group="svctoolkit.policies"
)
