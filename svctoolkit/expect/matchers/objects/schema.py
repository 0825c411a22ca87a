"""`$schema: file.json`: a value that is valid under a JSON Schema. The file is relative to the suite; YAML works, too.

Any valid schema of the drafts 4, 6, 7, 2019-09 and 2020-12 (the default): what RudderStack rejects in tracking plans is
allowed here. References to other files are followed, references to the network are not.

>>> from svctoolkit.runner import differences
>>> for difference in differences({"$schema": "no-such-file.json"}, 1): print(difference)
(value): no-such-file.json cannot be used: no-such-file.json: cannot be read: No such file or directory
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.expect import resources
from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING, Matcher
from svctoolkit.inputs import Inputs
from svctoolkit.json_types import Json

_MOST = 50
_BACKTRACKS: Final = 20_000  # steps of one pattern; some milliseconds

#: Keywords that reject values by themselves.
_ASSERTING: Final = """
    type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern format
    maxItems minItems uniqueItems maxProperties minProperties required dependentRequired contains not
    $ref $dynamicRef $recursiveRef
"""
#: Keywords with a schema or a list of schemas, and those with schemas by name.
_NESTING: Final = """
    items additionalItems additionalProperties propertyNames unevaluatedItems unevaluatedProperties if then else
    allOf anyOf oneOf prefixItems
"""
_NAMING: Final = "properties patternProperties dependentSchemas dependencies"
_ASSERTIONS, _SCHEMAS, _MAPS = (frozenset(text.split()) for text in (_ASSERTING, _NESTING, _NAMING))


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    try:
        validator = _validator(resources.current().folder / operand)
    except ConfigError as error:
        place = ".".join(map(str, comparison.path)) or "(value)"
        text = f"{place}: {operand} cannot be used: {error}"
        yield Difference(comparison.expectation, comparison.path, "", "", text=text)
        return
    if actual is MISSING:
        yield comparison.difference(f"a value that is valid under {operand}", actual)
        return
    # As plain JSON: the validator accepts neither subclasses of `dict` nor halves of surrogate pairs.
    plain = json.loads(json.dumps(actual).encode().replace(b"\\ud", b"\\\\ud"))
    for broken in islice(validator.iter_errors(plain), _MOST):
        place = ".".join(map(str, [*comparison.path, *broken.instance_path])) or "(value)"
        rule = "/".join(map(str, ["#", *broken.schema_path]))
        text = f"{place}: {broken.message} ({operand}: {rule})"
        yield Difference(comparison.expectation, comparison.path, "", "", text=text)


def _validator(path: Path) -> Any:
    """Return the compiled schema of a file. Raises `ConfigError` with the reason why it cannot be used."""
    key = path.absolute()
    validator, read = _compiled.get(key, (None, Inputs()))
    if validator is None or read.changed():
        with inputs.recording() as read:
            validator = _compile(path)
        _compiled[key] = validator, read
    inputs.replay(read)
    return validator


_compiled: dict[Path, tuple[Any, Inputs]] = {}  # with the files that it was read from


def _compile(path: Path) -> Any:
    import jsonschema_rs

    document = yamlfile.load(path)
    schema = document.data
    if not isinstance(schema, (dict, bool)):
        raise ConfigError(document.problem((), "a JSON Schema must be an object"))
    if not _asserts(schema):
        keywords = _ASSERTIONS | _SCHEMAS | _MAPS
        unknown = [key for key in schema if key not in keywords] if isinstance(schema, Mapping) else []
        hint = next(filter(None, (did_you_mean(key, keywords) for key in unknown)), "")
        raise ConfigError(document.problem((), f"every value is valid under this schema, so it proves nothing.{hint}"))
    try:
        return jsonschema_rs.validator_for(
            schema,
            validate_formats=True,
            base_uri=path.absolute().as_uri(),
            retriever=_other_file,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        where = [*getattr(error, "instance_path", ())]
        message = str(getattr(error, "message", error)).partition("\n")[0]
        raise ConfigError(document.problem(where, f"not a valid JSON Schema: {message}")) from error


def _other_file(address: str) -> Json:
    """Return the schema that a reference names by the path of its file."""
    parts = urlsplit(address)
    if parts.scheme != "file":
        raise ValueError("schemas are not fetched from the network: save it in a file, and refer to that")
    return yamlfile.load(Path(unquote(parts.path))).data


def _asserts(schema: Json) -> bool:
    """Whether a schema may be invalid for some value."""
    if not isinstance(schema, Mapping):
        return schema is False
    if any(key in _ASSERTIONS and value not in ([], {}, False, "") for key, value in schema.items()):
        return True
    return any(_asserts(inner) for key, value in schema.items() for inner in _schemas_in(key, value))


def _schemas_in(key: str, value: Json) -> Iterable[Json]:
    if key in _MAPS and isinstance(value, Mapping):
        # The names in `dependencies` may be required by others.
        return (False if isinstance(inner, list) and inner else inner for inner in value.values())
    if key in _SCHEMAS:
        return value if isinstance(value, list) else [value]
    return []


def _problem(operand: Any) -> str:
    if not isinstance(operand, str) or not operand:
        return "must be the path of a JSON Schema"
    if "$(" in operand:  # of a variable that is known later
        return ""
    try:
        _validator(resources.current().folder / operand)
    except ConfigError as error:
        return f"{operand} cannot be used: {error}"
    return ""


matcher = Matcher(_differences, _problem)
