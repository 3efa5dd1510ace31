"""Write the reference under `docs/reference` out of the code that it describes.

    python scripts/reference.py           write every page anew
    python scripts/reference.py --check   exit 1 and name the pages that have drifted

Each page has one function that reads the code (the command line's own declarations, the settings'
fields, the API's description, the metrics, the manifest models, the catalogue of words), so
nothing is said twice. `tests/house/test_documented.py` keeps the pages fresh.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.main import get_command

from seedance.cli.app import app
from seedance.cli.exits import MEANINGS
from seedance.cli.explain import GROUPS, word_codes
from seedance.cli.grammar import PROGRAM, split_help
from seedance.cli.session import Common
from seedance.facts import words
from seedance.manifests.explain import reference
from seedance.serve.program import app as server_app
from seedance.settings.load import described as described_settings
from seedance.web.app import reference as described
from seedance.web.metrics import METRICS

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
NOTE = "<!-- Written by scripts/reference.py from the code; edit the code, not this page. -->"


def cli_page() -> str:
    """Every command of `seedancectl`: examples, arguments, options, exit codes."""
    root = get_command(app)
    about, examples, rest = split_help(root.help or "")
    lines = ["# Command line", "", NOTE, "", about, "", *_code(examples), "", rest, ""]
    lines += ["The server's own program is [seedance](server.md).", ""]
    lines += ["## Options of every command", "", *_options(root.params), ""]
    lines += _program(root, PROGRAM, set(Common.__dataclass_fields__))
    lines += ["## Exit codes", "", "| code | meaning |", "| --- | --- |"]
    lines += [f"| {code.value} | {_cell(text)} |" for code, text in MEANINGS.items()]
    lines += ["", "## Environment", "", *_environment()]
    return _page(lines)


def server_page() -> str:
    """Every command of `seedance`."""
    root = get_command(server_app)
    lines = ["# Program of the server", "", NOTE, "", root.help or "", ""]
    lines += ["Settings that have no option here are variables or lines of the YAML file:"]
    lines += ["[settings](settings.md). The client is [seedancectl](cli.md).", ""]
    lines += _program(root, "seedance", set())
    return _page(lines)


def _program(root: Any, name: str, shared: set[str]) -> list[str]:
    """A section for each command: what it does, examples, its own arguments and options."""
    lines: list[str] = []
    for path, command in _commands(root, ()):
        about, examples, rest = split_help(command.help or "")
        lines += [f"## {name} {' '.join(path)}", "", about, ""]
        lines += [*_code(examples), ""] if examples else []
        lines += [rest, ""] if rest else []
        own = [param for param in command.params if _is_own(param, shared, command)]
        lines += [*_options(own), ""] if own else []
    return lines


def _is_own(param: Any, shared: set[str], command: Any) -> bool:
    """Whether a parameter is the command's own; `config set-server` has two of the shared ones."""
    names = {other.name for other in command.params}
    return param.name not in shared or not shared <= names


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield (*path, name), command
        yield from _commands(command, (*path, name))


def _code(lines: Sequence[str]) -> list[str]:
    return ["```console", *(f"$ {line}" for line in lines), "```"] if lines else []


def _options(params: Sequence[Any]) -> list[str]:
    lines = ["| | what it does | default |", "| --- | --- | --- |"]
    for param in params:
        if param.param_type_name == "argument":
            names = f"`{param.metavar or param.name.upper()}`"
        else:
            word = f" {param.metavar}" if param.metavar else ""
            names = ", ".join(f"`{name}`" for name in param.opts) + (
                f" `{word.strip()}`" * bool(word)
            )
        choices = param.type_descriptor.choices
        text = param.help + (f" One of {', '.join(map(str, choices))}." if choices else "")
        lines.append(f"| {names} | {_cell(text)} | {_default(param)} |")
    return lines


def _default(param: Any) -> str:
    if param.required:
        return "**required**"
    plain = param.default not in (None, "", False, 0)
    return f"`{getattr(param.default, 'value', param.default)}`" if plain else ""


def _environment() -> list[str]:
    said = {
        "SEEDANCE_SERVER": "Address of the server, as `--server`.",
        "SEEDANCE_CONTEXT": "Context of the configuration file, as `--context`.",
        "SEEDANCE_TOKEN_FILE": "File that holds the token, as `--token-file`.",
        "SEEDANCE_TOKEN": "The token itself, where a file is not possible.",
        "SEEDANCE_CERTIFICATE_AUTHORITY": "PEM file of the authority to trust.",
        "SEEDANCE_ZONE": "Time zone of days and of times shown, as `--zone`.",
        "SEEDANCE_CLIENT_CONFIG": "Place of the configuration file.",
        "SEEDANCE_DEBUG": "`1` shows the traceback of a bug.",
        "NO_COLOR": "Any value switches colour off.",
    }
    lines = ["| variable | what it does |", "| --- | --- |"]
    return lines + [f"| `{name}` | {_cell(text)} |" for name, text in said.items()]


def manifests_page() -> str:
    """Every field of every manifest."""
    title, _, rest = reference().partition("\n")
    return f"{title}\n\n{NOTE}\n{rest}"


def reasons_page() -> str:
    """Every word that an answer may hold, with its sentence and next step."""
    titles = {
        "reason": "Reasons",
        "flag": "Flags",
        "kind": "Kinds of rows",
        "key": "Special keys",
        "measure": "Measures",
        "dimension": "Dimensions",
    }
    lines = ["# Words of the answers", "", NOTE, ""]
    lines += ["`seedancectl explain WORD` and `/api/v1/explain/WORD` say the same."]
    for group in GROUPS:
        codes = [code for code in word_codes() if code.startswith(f"{group}:")]
        if not codes:
            continue
        lines += ["", f"## {titles[group]}", "", "| word | meaning | next step |"]
        lines.append("| --- | --- | --- |")
        for code in codes:
            phrase = words.phrase(code)
            word = code.partition(":")[2]
            lines.append(f"| `{word}` | {_cell(phrase.sentence)} | {_cell(phrase.step)} |")
    return _page(lines)


def openapi_text() -> str:
    """The API's description, as the server serves it."""
    return described()


def api_document() -> Any:
    """The API's description as plain values."""
    return json.loads(openapi_text())


def api_page() -> str:
    """Every path of the API: parameters, answers, and what the fields mean."""
    document = api_document()
    lines = ["# HTTP API", "", NOTE, ""]
    lines += ["The same as [openapi.json](openapi.json), which the server serves at"]
    lines += ["`/openapi.json`. Errors are RFC 9457 problem documents.", ""]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines += _operation(path, method, operation)
    lines += ["# Answers", ""]
    for name, schema in sorted(document.get("components", {}).get("schemas", {}).items()):
        lines += _schema(name, schema)
    return _page(lines)


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> list[str]:
    lines = [f"## {method.upper()} {path}", "", f"{operation.get('summary', '')}.", ""]
    rows = [_parameter(each) for each in operation.get("parameters", ())]
    if rows:
        lines += ["| parameter | type | default | what it says |", "| --- | --- | --- | --- |"]
        lines += [*rows, ""]
    answers = [
        f"`{status}` {_answer_of(answer)}" for status, answer in operation["responses"].items()
    ]
    return [*lines, "Answers: " + ", ".join(answers) + ".", ""]


def _parameter(parameter: Mapping[str, Any]) -> str:
    schema = parameter.get("schema", {})
    default = "**required**" if parameter.get("required") else _json_default(schema)
    said = parameter.get("description") or schema.get("description") or ""
    return f"| `{parameter['name']}` | {_type_of(schema)} | {default} | {_cell(said)} |"


def _answer_of(answer: Mapping[str, Any]) -> str:
    content = answer.get("content") or {}
    kinds = [
        _type_of(media.get("schema", {})) if media.get("schema") else f"`{name}`"
        for name, media in content.items()
    ]
    return " or ".join(kinds) if kinds else "no body"


def _schema(name: str, schema: Mapping[str, Any]) -> list[str]:
    lines = [f"## {name}", ""]
    if schema.get("description"):
        lines += [schema["description"].partition("\n")[0], ""]
    fields = schema.get("properties") or {}
    if fields:
        lines += ["| field | type | what it says |", "| --- | --- | --- |"]
        lines += [
            f"| `{field}` | {_type_of(each)} | {_cell(each.get('description', ''))} |"
            for field, each in fields.items()
        ]
        lines.append("")
    return lines


def _type_of(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type_of(each) for each in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type_of(schema.get('items', {}))}"
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping) and values:
        return f"text to {_type_of(values)}"
    plain = {"string": "text", "object": "object", "null": "nothing"}
    return plain.get(str(schema.get("type")), str(schema.get("type", "anything")))


def _json_default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return f"`{default}`" if default not in (None, "", []) else ""


def metrics_page() -> str:
    """Every name under `/metrics`."""
    lines = ["# Metrics", "", NOTE, ""]
    lines += ["What the server says about itself at `/metrics`, in Prometheus' text format.", ""]
    lines += ["| metric | kind | labels | what it says |", "| --- | --- | --- | --- |"]
    for entry in METRICS:
        labels = ", ".join(f"`{label}`" for label in entry.labels)
        lines.append(f"| `{entry.name}` | {entry.kind} | {labels} | {_cell(entry.about)} |")
    return _page(lines)


PLAIN_TYPES = {"str": "text", "int": "whole number", "float": "number", "bool": "yes or no"}


def settings_page() -> str:
    """Every setting of the server: its three spellings, unit, default and the reason for it."""
    lines = ["# Settings of the server", "", NOTE, ""]
    lines += ["An option stands over the variable, the variable over the YAML file that `--config`"]
    lines += ["names, the file over the default. `seedance settings` prints what is in force and"]
    lines += ["where each value came from. A secret may also stand in a file that the variable"]
    lines += [
        "with `_FILE` behind its name names. How long things are kept: [retention](retention.md)."
    ]
    topic = ""
    for entry in described_settings():
        first, _, name = entry.name.partition(".")
        if first != topic:
            topic = first
            lines += ["", f"## {topic}", "", "| setting | what it does | default, and why |"]
            lines.append("| --- | --- | --- |")
        spelt = [f"`{name}`", f"`{entry.variable}`", *([f"`{entry.flag}`"] if entry.flag else [])]
        kind = ", ".join(filter(None, [PLAIN_TYPES.get(entry.kind, entry.kind), entry.unit]))
        default = f"`{entry.default}`" if entry.default else "none"
        said = f"{entry.about} ({kind})" + (" Secret: never printed." if entry.secret else "")
        why = f"{default}: {entry.why}"
        lines.append(f"| {'<br>'.join(spelt)} | {_cell(said)} | {_cell(why)} |")
    return _page(lines)


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


def _page(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "server.md": server_page,
    "manifests.md": manifests_page,
    "reasons.md": reasons_page,
    "settings.md": settings_page,
    "metrics.md": metrics_page,
    "openapi.json": openapi_text,
    "api.md": api_page,
}
"""Page under `docs/reference` and the function that writes it."""


def drifted() -> list[str]:
    """Pages that are not what the code says."""
    return [name for name, make in PAGES.items() if _read(REFERENCE / name) != make()]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 on drift")
    if parser.parse_args(arguments).check:
        stale = drifted()
        if stale:
            print(f"drifted: {', '.join(stale)}; run: make docs", file=sys.stderr)
        return 1 if stale else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (REFERENCE / name).write_text(make(), encoding="utf-8")
        print(f"docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
