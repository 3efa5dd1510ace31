"""Documentation of manifests out of their models: for `explain` and for the generated reference.

`explain("PriceBook.spec.entries")` gives a `FieldDoc`, `render` its text as kubectl's `explain`
lays it out, `reference` the whole of it as Markdown. There is no second place where fields are
described, so it cannot be out of date.
"""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import getdoc

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from seedance.facts.errors import NotFoundError
from seedance.manifests.fields import fields_of, part_of, type_words
from seedance.manifests.load import KINDS
from seedance.manifests.objects import API_VERSION

_WIDTH = 90
_INTRODUCTION = (
    f"Files that `seedance serve --manifests` reads, all of `apiVersion: {API_VERSION}`. The same "
    "text comes from `seedancectl explain KIND.FIELD`. Amounts are decimal numbers of at most 12 "
    "places and are kept exactly as written, quoted or not. Instants are RFC 3339 with an offset "
    "and stand on whole minutes."
)


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """What is known of a field, or of a kind as a whole.

    `path` is how it is asked for, `type` in words, `default` as text ("" where there is none).
    """

    path: str
    name: str
    type: str
    description: str
    required: bool = False
    default: str = ""
    fields: tuple[FieldDoc, ...] = field(default=())


def kinds() -> list[str]:
    """Every kind of manifest, as `explain` takes it."""
    return list(KINDS)


def explain(topic: str) -> FieldDoc:
    """What `topic` (`PriceBook`, `PriceBook.spec.entries`, case does not matter) means.

    Raises:
        NotFoundError: if there is no such kind or field; the message names what there is.
    """
    first, *parts = topic.strip().split(".")
    doc = _chosen(first, [_kind(kind) for kind in KINDS], "kind")
    for part in parts:
        doc = _chosen(part, doc.fields, f"field of {doc.path}")
    return doc


def _chosen(name: str, docs: list[FieldDoc] | tuple[FieldDoc, ...], what: str) -> FieldDoc:
    for doc in docs:
        if doc.name.lower() == name.lower():
            return doc
    known = [doc.name for doc in docs]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    guess = f"did you mean {close[0]}? " if close else ""
    raise NotFoundError(
        f"{name!r} is no {what}", hint=f"{guess}there is {', '.join(known) or 'nothing below it'}"
    )


def render(doc: FieldDoc) -> str:
    """`doc` as text for a terminal: kind or field, type, description and the fields below."""
    kind = doc.path.split(".", maxsplit=1)[0]
    lines = [f"KIND:     {kind}", f"VERSION:  {API_VERSION}", ""]
    if doc.path != kind:
        lines += [f"FIELD:    {_headline(doc)}", ""]
    lines += ["DESCRIPTION:", *_indented(doc.description), ""]
    if doc.fields:
        lines.append("FIELDS:")
        for below in doc.fields:
            lines += [f"  {_headline(below)}", *_indented(below.description), ""]
    return "\n".join(lines).rstrip() + "\n"


def reference() -> str:
    """Every kind and field as Markdown, one table for each part."""
    lines = ["# Manifests", "", _INTRODUCTION]
    for kind in KINDS:
        doc = _kind(kind)
        lines += ["", f"## {kind}", "", doc.description]
        same: dict[str, list[str]] = {}
        for part in _parts(doc):
            same.setdefault("\n".join(_table(part)), []).append(f"`{part.path}`")
        for table, paths in same.items():
            lines += ["", f"### {', '.join(paths)}", "", table]
    return "\n".join(lines) + "\n"


def _parts(doc: FieldDoc) -> Iterator[FieldDoc]:
    if doc.fields:
        yield doc
    for below in doc.fields:
        yield from _parts(below)


def _table(doc: FieldDoc) -> list[str]:
    rows = ["| field | type | default | what it says |", "| --- | --- | --- | --- |"]
    for below in doc.fields:
        default = "**required**" if below.required else f"`{below.default}`" * bool(below.default)
        text = below.description.replace("|", "\\|")
        rows.append(f"| `{below.name}` | {below.type} | {default} | {text} |")
    return rows


def _headline(doc: FieldDoc) -> str:
    extra = " -required-" if doc.required else ""
    default = f" (default {doc.default})" if doc.default else ""
    return f"{doc.name} <{doc.type}>{extra}{default}"


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _kind(kind: str) -> FieldDoc:
    model = KINDS[kind]
    return FieldDoc(
        path=kind, name=kind, type="manifest", description=_about(model), fields=_below(model, kind)
    )


def _about(model: type[BaseModel]) -> str:
    return (getdoc(model) or "").split("\n\n", maxsplit=1)[0].replace("\n", " ")


def _below(model: type[BaseModel], path: str) -> tuple[FieldDoc, ...]:
    return tuple(_field(name, info, f"{path}.{name}") for name, info in fields_of(model))


def _field(name: str, info: FieldInfo, path: str) -> FieldDoc:
    part = part_of(info.annotation)
    return FieldDoc(
        path=path,
        name=name,
        type=type_words(info),
        description=info.description or "",
        required=info.is_required(),
        default=_default(info),
        fields=_below(part, path) if part else (),
    )


def _default(info: FieldInfo) -> str:
    value = info.default
    if value is PydanticUndefined or value in (None, "", ()) or isinstance(value, BaseModel):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
