"""The page at `/docs`: plain HTML from the OpenAPI document. Readable without JavaScript, which only "Try it" needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

JsonDocument = Mapping[str, Any]


def page(document: JsonDocument, style: str, script: str) -> str:
    """Return the complete page, without external resources."""
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    info = document["info"]
    links = "".join(
        f'<li><a href="#{o["operationId"]}"><b class="{m}">{m.upper()}</b> <code>{escape(p)}</code></a></li>'
        for p, m, o in operations
    )
    sections = "".join(_operation(document, path, method, operation) for path, method, operation in operations)
    about = "".join(f"<p>{_text(paragraph)}</p>" for paragraph in info["description"].split("\n\n"))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(info["title"])}</title><style>{style}</style></head>
<body><header><h1>{escape(info["title"])} <small>{escape(info["version"])}</small></h1>{about}
<nav aria-label="Operations"><ul>{links}</ul></nav>
<p><a href="openapi.json">OpenAPI document</a></p>
<form id="login" hidden><label>E-mail <input name="email" autocomplete="username"></label>
<label>Access token <input name="token" type="password" autocomplete="current-password"></label>
<label>Write key <input name="key" autocomplete="off"></label>
<span>used by the requests that you try below; a token without an e-mail is a bearer token</span></form></header>
<main>{sections}</main>
<script>{script}</script></body></html>
"""


_LOGINS = {"person": "login needed", "key": "write key needed", "local": "login needed from other machines", "none": ""}


def _login(operation: JsonDocument) -> str:
    """Return the kind of login that an operation requires: a key of `_LOGINS`."""
    security = operation.get("security", [{"basic": []}])
    if {} in security:
        return "local"
    return "none" if not security else "key" if {"writeKey": []} in security else "person"


def _operation(document: JsonDocument, path: str, method: str, operation: JsonDocument) -> str:
    login = _LOGINS[_login(operation)]
    blocks = [
        f'<h2><b class="{method}">{method.upper()}</b> <code>{escape(path)}</code> '
        + (f'<span class="login">{login}</span></h2>' if login else "</h2>"),
        f"<h3>{escape(operation['summary'])}</h3><p>{_text(operation['description'])}</p>",
    ]
    if operation["parameters"]:
        blocks.append(_table("Parameters", (_parameter(p) for p in operation["parameters"])))
    body = _json_content(operation.get("requestBody", {}))
    if body:
        blocks.append(_table("Request body", _members(document, body["schema"])))
        if "example" in body:
            blocks.append(_code("Example", body["example"]))
    if "200" in operation["responses"]:  # others describe errors only
        blocks.append(_try_it(path, method, operation, body.get("example")))
    blocks.append(_table("Answers", (_answer(document, s, a) for s, a in operation["responses"].items())))
    success = _json_content(operation["responses"].get("200", {}))
    if success:
        members = _table("Response", _members(document, success["schema"]))
        example = _code("Example", success["example"]) if "example" in success else ""
        blocks.append(f"<details><summary>Response 200 in full</summary>{members}{example}</details>")
    return f'<section id="{operation["operationId"]}">{"".join(blocks)}</section>'


def _json_content(part: JsonDocument) -> JsonDocument:
    """Return the schema and the example of a body or of an answer; empty without JSON."""
    content: JsonDocument = part.get("content", {}).get("application/json", {})
    return content


def _try_it(path: str, method: str, operation: JsonDocument, example: Any) -> str:
    fields = "".join(
        f'<label>{escape(p["name"])} <input name="{escape(p["name"])}" data-in="{p["in"]}" '
        f'value="{escape(str(p.get("example", "")))}"></label>'
        for p in operation["parameters"]
        if p["in"] != "header"
    )
    body = ""
    if example is not None:
        text = escape(_pretty(example))
        body = f'<label>Body <textarea name="body" rows="14" spellcheck="false">{text}</textarea></label>'
    return (
        f'<details class="try" hidden><summary>Try it</summary>'
        f'<form data-path="{escape(path)}" data-method="{method.upper()}" data-login="{_login(operation)}">'
        f"{fields}{body}"
        f'<button>Send</button></form><output aria-live="polite"></output></details>'
    )


def _parameter(parameter: JsonDocument) -> tuple[str, str, str]:
    schema = parameter["schema"]
    kind = " | ".join(schema["enum"]) if "enum" in schema else schema.get("type", "any")
    needed = "required" if parameter["required"] else "optional"
    return parameter["name"], f"{kind}, in {parameter['in']}, {needed}", parameter["description"]


def _answer(document: JsonDocument, status: str, answer: JsonDocument) -> tuple[str, str, str]:
    content = _json_content(answer)
    kind = _kind(document, content["schema"]) if content else "not JSON"
    return status, kind, answer["description"]


def _members(document: JsonDocument, schema: JsonDocument, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield every member with its path, type and meaning, followed by the members of inner objects."""
    if schema.get("type") == "array":
        schema = schema["items"]
    for choice in schema.get("anyOf", [schema]):
        resolved = _resolve(document, choice)
        for name, member in resolved.get("properties", {}).items():
            inner = _resolve(document, member)
            needed = "" if name in resolved.get("required", ()) else ", optional"
            if isinstance(member.get("default"), bool):
                needed = f", default {json.dumps(member['default'])}"
            meaning = member.get("description") or inner.get("description", "")
            yield f"{prefix}{name}", _kind(document, member) + needed, meaning
            for part in inner.get("anyOf", [inner]):
                items = part.get("items", {}) if part.get("type") == "array" else part
                dots = f"{prefix}{name}[]." if part.get("type") == "array" else f"{prefix}{name}."
                if items and "anyOf" not in items:
                    yield from _members(document, items, dots)


def _kind(document: JsonDocument, schema: JsonDocument) -> str:
    """Describe a JSON type: `list of Payload or StageError`."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(document, choice) for choice in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_kind(document, schema['items'])}" if schema.get("items") else "list"
    return str(schema.get("type", "any"))


def _resolve(document: JsonDocument, schema: JsonDocument) -> JsonDocument:
    if "$ref" not in schema:
        return schema
    schema_of_name: JsonDocument = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema_of_name


def _table(caption: str, rows: Iterator[tuple[str, str, str]]) -> str:
    lines = "".join(
        f"<tr><th scope=row><code>{escape(name)}</code></th><td>{escape(kind)}</td><td>{_text(meaning)}</td></tr>"
        for name, kind, meaning in rows
    )
    return f'<div class="scroll"><table><caption>{caption}</caption><tbody>{lines}</tbody></table></div>'


def _code(caption: str, value: Any) -> str:
    return f"<figure><figcaption>{caption}</figcaption><pre><code>{escape(_pretty(value))}</code></pre></figure>"


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _text(text: str) -> str:
    """Escape a string, with `code` between backticks."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(pieces))
