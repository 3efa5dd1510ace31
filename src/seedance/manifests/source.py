"""YAML text to plain data that remembers its lines and its figures as they were written.

YAML's own readers turn `0.1` into a binary float, `012` into ten, `12:30` into 750 and keep the
last of two equal keys. Here numbers become exact `Decimal`s or integers from their source text,
instants stay text, and what could be misread (octal, sexagesimal, duplicate keys, merge keys,
custom tags) is refused with its line. Anchors and aliases work; a bound on the number of values
keeps a small file from growing large.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import yaml

from seedance.facts.errors import ManifestError

Place = tuple[str | int, ...]
"""Keys and indices from the root of a document, as people write them."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_CHARS = 8 << 20
_MAX_VALUES = 500_000
_MAX_DEPTH = 40
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|[-+]?[0-9]+\.")
_TAG = "tag:yaml.org,2002:"
_COLLECTIONS = frozenset({_TAG + "map", _TAG + "seq"})
_UNTAGGED = "leave the tag out"
_TRUE = frozenset({"true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: where it stands, its data and the line of each place in it."""

    file: str
    line: int
    data: Any
    lines: Mapping[Place, int]

    def line_of(self, place: Place) -> int:
        """Line of `place`, or of the nearest place around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, self.line)


def documents(text: str, *, file: str) -> Iterator[Document]:
    """Each document of `text` that is not empty.

    Raises:
        ManifestError: if the text is no YAML or holds something that could be misread.
    """
    if len(text) > _MAX_CHARS:
        raise ManifestError(
            f"{len(text):,} characters are more than the {_MAX_CHARS:,} a manifest may have",
            file=file,
            hint="split the file",
        )
    for node in _nodes(text, file):
        builder = _Builder(file)
        data = builder.value(node, ())
        if data is not None:
            line = node.start_mark.line + 1
            yield Document(file=file, line=line, data=data, lines=builder.lines)


def _nodes(text: str, file: str) -> Iterator[yaml.Node]:
    try:
        yield from yaml.compose_all(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ManifestError(
            f"not YAML: {error.problem or error.context}",
            file=file,
            line=mark.line + 1 if mark else 0,
            hint="often an indent, a missing colon or a tab",
        ) from None
    except yaml.YAMLError as error:
        raise ManifestError(f"not YAML: {error}", file=file, hint="save it as UTF-8") from None
    except RecursionError:
        raise ManifestError("nested too deeply", file=file) from None


@dataclass(slots=True)
class _Builder:
    """Builds the data of one document from its nodes and notes the lines."""

    file: str
    lines: dict[Place, int] = field(default_factory=dict)
    count: int = 0

    def value(self, node: yaml.Node, place: Place) -> Any:
        self.count += 1
        self.lines.setdefault(place, node.start_mark.line + 1)
        if len(place) > _MAX_DEPTH or self.count > _MAX_VALUES:
            raise self.wrong("nested too deeply or too many values", node, place)
        if not isinstance(node, yaml.ScalarNode) and node.tag not in _COLLECTIONS:
            raise self.wrong(f"the tag {node.tag} is not read", node, place, hint=_UNTAGGED)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
        return self.scalar(node, place)

    def mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.key(key_node, place)
            if key in data:
                raise self.wrong(
                    f"{key!r} stands twice, first in line {self.lines[(*place, key)]}",
                    key_node,
                    (*place, key),
                    hint="keep one of them",
                )
            self.lines[(*place, key)] = key_node.start_mark.line + 1
            data[key] = self.value(value_node, (*place, key))
        return data

    def key(self, node: yaml.Node, place: Place) -> str:
        if node.tag == _TAG + "merge":
            raise self.wrong("merge keys (<<) are not read", node, place, hint="write the keys out")
        if not isinstance(node, yaml.ScalarNode):
            raise self.wrong("a key must be text", node, place)
        return str(node.value)

    def scalar(self, node: yaml.Node, place: Place) -> Any:
        text = str(node.value)
        tag = node.tag.removeprefix(_TAG)
        if tag in {"str", "timestamp"}:
            return text
        if tag == "null":
            return None
        if tag == "bool":
            return text.lower() in _TRUE
        if tag in {"int", "float"}:
            return self.number(text, node, place)
        raise self.wrong(f"the tag {node.tag} is not read", node, place, hint=_UNTAGGED)

    def number(self, text: str, node: yaml.Node, place: Place) -> int | Decimal:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text) and not re.match(r"[-+]?0[0-9]", text):
            return Decimal(text)
        raise self.wrong(
            f"{text} can be read as more than one number",
            node,
            place,
            hint=f'write digits with a decimal point, or "{text}" in quotes if it is text',
        )

    def wrong(
        self, message: str, node: yaml.Node, place: Place, *, hint: str = ""
    ) -> ManifestError:
        return ManifestError(
            message,
            file=self.file,
            line=node.start_mark.line + 1,
            path=spell(place),
            hint=hint,
        )


def spell(place: Place) -> str:
    """A place as people write it: `spec.entries[0].node.labels["team.io/name"]`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text
