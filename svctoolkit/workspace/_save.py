"""Write a workspace as a YAML file."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from svctoolkit import yamlfile
from svctoolkit.delivery.faults import FaultSettings
from svctoolkit.destinations import definitions
from svctoolkit.errors import InvalidWorkspace, Problem
from svctoolkit.secrets import Secret, json_credentials
from svctoolkit.transformations import Limits
from svctoolkit.url_secrets import UrlSecret, address_secrets, url_secrets
from svctoolkit.workspace._env_file import save_env
from svctoolkit.workspace._items import Account, Destination, Library, Person, Source, TrackingPlan, Transformation
from svctoolkit.workspace._references import escape, has_reference
from svctoolkit.workspace._settings import DataPlaneSettings, Delivery, WarehouseSettings
from svctoolkit.workspace._shapes import LimitsShape, WarehousesShape

if TYPE_CHECKING:
    from svctoolkit.workspace._model import Workspace


def dump(workspace: Workspace, folder: Path | None) -> str:
    """Return the YAML text, for a file in `folder`."""
    return _dump(workspace, folder)[0]


def _dump(workspace: Workspace, folder: Path | None) -> tuple[str, dict[str, str]]:
    """Return the text, and the values of the environment variables in its new references."""
    writer = _Writer(workspace.folder, folder)
    data = writer.workspace(workspace)
    if writer.problems:
        raise InvalidWorkspace(yamlfile.cap(writer.problems))
    return yamlfile.dump(data), writer.environment


def save(workspace: Workspace, path: Path, *, env_file: bool = False) -> None:
    text, environment = _dump(workspace, path.parent)
    try:
        if env_file and environment:
            save_env(path.resolve().parent, environment)
        with _replacing(path.resolve()) as file:
            file.write(text.encode())
    except (OSError, ValueError) as error:
        raise InvalidWorkspace(
            f"cannot be written: {getattr(error, 'strerror', None) or error}", where=str(path)
        ) from error


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` once it is complete, with the same permissions."""
    new = path.with_name(f".{path.name[:50]}.{uuid4().hex[:8]}")
    with new.open("xb") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if path.exists():
                new.chmod(path.stat().st_mode & 0o7777)
            new.replace(path)
        except BaseException:
            new.unlink()
            raise


class _Writer:
    """Converts a workspace to plain values for the file, without default values.

    `problems` has what cannot be written, `environment` the secrets that the file replaces by new references.
    """

    def __init__(self, old: Path | None, new: Path | None) -> None:
        self.problems: list[Problem] = []
        self.environment: dict[str, str] = {}
        self._old, self._new = old or Path(), new or Path()

    def workspace(self, workspace: Workspace) -> dict[str, Any]:
        sections = {
            "workspace": workspace.name,
            "users": [_person(person) for person in workspace.users],
            "sources": {key: self._source(key, source) for key, source in workspace.sources.items()},
            "destinations": {key: self._destination(key, d) for key, d in workspace.destinations.items()},
            "transformations": {
                key: {**_names(key, t.id, t.name), **self._code(t, f"transformations.{key}")}
                for key, t in workspace.transformations.items()
            },
            "libraries": {
                key: self._code(sections, f"libraries.{key}") for key, sections in workspace.libraries.items()
            },
            "accounts": {key: self._account(key, account) for key, account in workspace.accounts.items()},
            "trackingPlans": {key: self._tracking_plan(item) for key, item in workspace.tracking_plans.items()},
            "credentials": self._config(workspace.credentials, "credentials"),
            "delivery": self._delivery(workspace.delivery),
            "dataPlane": _data_plane(workspace.data_plane),
            "warehouses": _settings_of(workspace.warehouses, WarehousesShape),
            "limits": _settings_of(workspace.limits, LimitsShape),
            "known": [*workspace.known],
            "policies": [*workspace.policies],
            "faults": _faults(workspace.faults),
            "releases": workspace.releases,
            "environments": {
                name: self._environment(workspace, name, members) for name, members in workspace.environments.items()
            },
        }
        written = {key: value for key, value in sections.items() if value or key == "workspace"}
        self._check(written, "")
        return written

    def _environment(self, workspace: Workspace, name: str, members: Mapping[str, Any]) -> dict[str, Any]:
        """Return the overrides of an environment as they were written; secrets in clear text become references."""
        written = dict(members)
        for key, changes in members.get("destinations", {}).items():
            config = changes.get("config")
            if config and key in workspace.destinations:
                safe = definitions.protect(workspace.destinations[key].type, config)
                changes = {**changes, "config": self._unresolved(safe, f"{name}.{key}")}
            written["destinations"] = {**written["destinations"], key: changes}
        if "credentials" in members:
            secrets = {key: Secret(value) for key, value in members["credentials"].items()}
            written["credentials"] = self._unresolved(secrets, f"{name}.credentials")
        return written

    def _source(self, key: str, source: Source) -> dict[str, Any]:
        members, to = _source(key, source), source.forward
        if source.config:
            members["config"] = self._config(source.config, f"sources.{key}.config")
        if to is not None:
            places = f"sources.{key}.forward"
            members["forward"] = {
                "url": self._config(to.url, f"{places}.url"),
                "writeKey": self._config(to.write_key, f"{places}.writeKey"),
                **({"answer": to.answer} if to.answer != "ours" else {}),
                **({} if to.enabled else {"enabled": False}),
            }
        return members

    def _unresolved(self, value: Any, path: str) -> Any:
        """Convert unresolved values of a file: references are kept."""
        if isinstance(value, Secret):
            text = value.reveal()
            return text if has_reference(text) else self._reference(text, path)
        if isinstance(value, Mapping):
            return {key: self._unresolved(inner, f"{path}.{key}") for key, inner in value.items()}
        if isinstance(value, list):
            return [self._unresolved(inner, f"{path}.{i}") for i, inner in enumerate(value)]
        return value

    def _tracking_plan(self, item: TrackingPlan) -> dict[str, Any]:
        if item.path is None:
            self.problems.append(Problem("a plan created in Python has no file", f"trackingPlans.{item.key}"))
            return {}
        path = item.path if item.path.is_absolute() else Path(os.path.relpath(self._old / item.path, self._new))
        members = {
            "project"
            if (self._old / item.path).is_dir() and item.format in (None, "rudder-cli")
            else "file": path.as_posix(),
            "format": item.format,
            "plan": item.plan,
            "version": item.version,
            "strict": None if item.strict else False,
            "variables": [Path(os.path.relpath(self._old / f, self._new)).as_posix() for f in item.variables] or None,
        }
        return {name: value for name, value in members.items() if value is not None}

    def _destination(self, key: str, destination: Destination) -> dict[str, Any]:
        members = {
            **_names(key, destination.id, destination.name),
            "type": destination.type,
            "enabled": None if destination.enabled else False,
            "config": self._config(destination.config, f"destinations.{key}.config") or None,
            "transformation": destination.transformation,
            "account": destination.account or destination.declared or None,
            "simulate": destination.simulate,
        }
        return {member: value for member, value in members.items() if value is not None}

    def _account(self, key: str, account: Account) -> dict[str, Any]:
        members = {"secret": account.secret, "renewals": account.renewals}
        return {name: self._config(value, f"accounts.{key}.{name}") for name, value in members.items() if value}

    def _config(self, value: Any, path: str) -> Any:
        if isinstance(value, Secret):
            return value.origin if has_reference(value.origin) else self._references(value.reveal(), path)
        if isinstance(value, str):
            is_secret = path.startswith("credentials.") or any(url_secrets(value))
            return self._references(value, path) if is_secret and value else escape(value)
        if isinstance(value, Mapping):
            members = {key: f"{path}.{key}" for key in value}
            if value.keys() == {"from", "to"}:  # the variable of a header has the header's name
                members["to"] = f"{path.rpartition('.')[0]}.{value['from']}"
            return {key: self._config(inner, members[key]) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._config(inner, f"{path}.{i}") for i, inner in enumerate(value)]
        return value

    def _references(self, secret: str, path: str) -> str:
        """Return a secret as a new reference. Of a JSON object or a URL, only its credentials become references."""
        if places := address_secrets(secret):
            return "".join(self._url_pieces(secret, places, path))
        text = escape(secret)
        for names, credential in json_credentials(secret):
            spelled = {json.dumps(credential)[1:-1], json.dumps(credential, ensure_ascii=False)[1:-1]}
            written = next((spelling for spelling in spelled if f'"{spelling}"' in text), None)
            if written is None:  # with other escapes
                return self._reference(secret, path)
            text = text.replace(f'"{written}"', f'"{self._reference(written, ".".join([path, *names]))}"')
        return text if text != escape(secret) else self._reference(secret, path)

    def _url_pieces(self, url: str, places: Sequence[UrlSecret], path: str) -> Iterator[str]:
        """Yield a URL with references to its secrets. What is public stays: its host decides whether it is mapped."""
        end = 0
        for place in places:
            yield escape(url[end : place.start])
            yield self._reference(url[place.start : place.end], f"{path}.{place.name}" if place.name else path)
            end = place.end
        yield escape(url[end:])

    def _reference(self, secret: str, path: str) -> str:
        """Return a new reference for a secret in clear text: `$(env:HOOK_API_KEY)`."""
        words = [word for word in path.split(".") if word not in ("destinations", "config")]
        base = re.sub(r"\W+", "_", "_".join(map(_snake, words)), flags=re.ASCII).upper().strip("_")
        base = name = base if base[:1].isalpha() else f"SECRET_{base}"
        number = 1
        while self.environment.setdefault(name, secret) != secret:
            number += 1
            name = f"{base}_{number}"
        return f"$(env:{name})"

    def _code(self, item: Transformation | Library, path: str) -> dict[str, Any]:
        members: dict[str, Any] = {} if item.language is None else {"language": item.language}
        if isinstance(item, Transformation) and item.function is not None:
            name = getattr(item.function, "__name__", "a callable")
            self._problem(path, f"the Python function {name} cannot be saved: put it in a file, and set `file`")
        elif item.file is not None:
            members["file"] = self._file(item.file, item.code, path)
        elif item.code:
            members["code"] = item.code
        if item.version_id:
            members["versionId"] = item.version_id
        if isinstance(item, Transformation) and item.code_version:
            members["codeVersion"] = item.code_version
        return members

    def _delivery(self, delivery: Delivery) -> dict[str, Any]:
        default = Delivery()
        members = ("mode", "allow", "timeout", "profile", "concurrency", "simulate")
        settings = {m: getattr(delivery, m) for m in members if getattr(delivery, m) != getattr(default, m)}
        if delivery.braze_limit != default.braze_limit:
            settings["brazeLimit"] = delivery.braze_limit
        if delivery.geolocation:
            settings["geolocation"] = self._config(delivery.geolocation, "geolocation")
        if delivery.backoff:
            settings["backoff"] = {_CAMEL.get(name, name): value for name, value in delivery.backoff.items()}
        if delivery.batch != default.batch:
            settings["batch"] = asdict(delivery.batch) if delivery.batch else "off"
        if delivery.throttle:
            settings["throttle"] = {
                key: {name: value for name, value in asdict(throttle).items() if value}
                for key, throttle in delivery.throttle.items()
            }
        return settings if delivery.cassette is None else {**settings, "cassette": self._relative(delivery.cassette)}

    def _file(self, file: Path, code: str, path: str) -> str:
        """Return the path of a file with code, relative to the new workspace file."""
        place = self._old / file
        if code and place.is_file() and yamlfile.load_text(place) != code:
            self._problem(path, f"its code differs from {file}: write it there, or set `file` to None to store it here")
        return self._relative(file)

    def _relative(self, file: Path) -> str:
        if file.is_absolute() or self._old.absolute() == self._new.absolute():
            return file.as_posix()
        return Path(os.path.relpath(self._old / file, self._new)).as_posix()

    def _check(self, value: Any, path: str) -> None:
        """Check that a value survives a round trip through YAML."""
        if isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(key, str):
                    self._check_text(key, path)
                    self._check(inner, f"{path}.{key}" if path else key)
                else:
                    self._problem(path, f"the key {key!r} is not a string")
        elif isinstance(value, list):
            for i, inner in enumerate(value):
                self._check(inner, f"{path}.{i}")
        elif isinstance(value, str):
            self._check_text(value, path)
        elif isinstance(value, float) and not math.isfinite(value):
            self._problem(path, f"{value} cannot be saved: it is not a finite number")
        elif value is not None and type(value) not in (bool, int, float):
            self._problem(path, f"a {type(value).__name__} is not a JSON value")

    def _check_text(self, text: str, path: str) -> None:
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            self._problem(path, "half of a surrogate pair cannot be saved")

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(message, path))


def _snake(word: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word)


def _names(key: str, id: str, name: str) -> dict[str, str]:
    return {**({} if id == key else {"id": id}), **({} if name == key else {"name": name})}


def _faults(faults: FaultSettings) -> dict[str, Any]:
    profiles = msgspec.json.decode(msgspec.json.encode(faults.profiles))
    members = {"profiles": profiles, "destinations": dict(faults.destinations), "sources": dict(faults.sources)}
    return {name: value for name, value in members.items() if value}


def _person(person: Person) -> dict[str, str]:
    email = {"email": person.email} if person.email else {}
    return {**email, "token": person.written or f"sha256:{person.token_hash}"}


def _source(key: str, source: Source) -> dict[str, Any]:
    members: dict[str, Any] = dict(_names(key, source.id, source.name))
    if source.type != "http":
        members["type"] = source.type
    if source.category and source.category != Source(key, key, key, source.type).category:
        members["category"] = source.category
    if source.write_key != key:
        members["writeKey"] = source.write_key
    if not source.enabled:
        members["enabled"] = False
    if source.connections:
        members["destinations"] = [
            c.destination if c.enabled else {"destination": c.destination, "enabled": False} for c in source.connections
        ]
    if source.plan_settings is not None:
        members["trackingPlan"] = {"plan": source.tracking_plan, "settings": source.plan_settings}
    elif source.tracking_plan is not None:
        members["trackingPlan"] = source.tracking_plan
    return members


def _settings_of(settings: Limits | WarehouseSettings, shape: type[msgspec.Struct]) -> dict[str, Any]:
    default, names = type(settings)(), shape.__struct_encode_fields__
    members = zip(shape.__struct_fields__, names, strict=True)
    return {name: getattr(settings, m) for m, name in members if getattr(settings, m) != getattr(default, m)}


_CAMEL = {"max_retry_after": "maxRetryAfter", "dedup_window": "dedupWindow"}


def _data_plane(knobs: DataPlaneSettings) -> dict[str, Any]:
    default = DataPlaneSettings()
    members = {
        _CAMEL.get(m, m): getattr(knobs, m)
        for m in ("lenient", "dedup_window", "traces")
        if getattr(knobs, m) != getattr(default, m)
    }
    retention = {m: getattr(knobs, m) for m in ("events", "seconds") if getattr(knobs, m) is not None}
    limits = {n: v for n, v in asdict(knobs.limits).items() if v != getattr(default.limits, n)}
    blocking = {kind: [*names] for kind, names in knobs.event_blocking.items() if names}
    groups = {"retention": retention, "limits": limits, "eventBlocking": blocking}
    return {**members, **{name: group for name, group in groups.items() if group}}
