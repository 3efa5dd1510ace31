"""Where values come from, and what they are in force.

    flag  >  SEEDANCE_TOPIC_NAME  >  YAML file (topic: {name: value})  >  default

A secret comes from the environment, from the file that SEEDANCE_TOPIC_NAME_FILE names, or from the
YAML file. A name that is not known, or a value that is not of its kind, stops the start.
"""

from __future__ import annotations

import os
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from seedance.settings.fields import Settings

PREFIX = "SEEDANCE"
HIDDEN = "***"
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0", ""})


class SettingsError(ValueError):
    """A setting that is not known or cannot be read; `hint` says what would be right."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Described:
    """One setting as the reference and `seedance settings` show it."""

    name: str
    variable: str
    flag: str
    kind: str
    unit: str
    default: str
    about: str
    why: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and for each name (`web.listen`) where its value came from."""

    settings: Settings
    origins: Mapping[str, str]

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """(name, value, origin) of every setting; a secret's value is hidden."""
        for entry in described():
            topic, _, name = entry.name.partition(".")
            value = getattr(getattr(self.settings, topic), name)
            shown = HIDDEN if entry.secret and value else spelled(value)
            yield entry.name, shown, self.origins[entry.name]


def described() -> Iterator[Described]:
    """Every setting, in order."""
    for topic in fields(Settings):
        room = typing.get_type_hints(Settings)[topic.name]
        for item in fields(room):
            notes = item.metadata
            yield Described(
                name=f"{topic.name}.{item.name}",
                variable=f"{PREFIX}_{topic.name}_{item.name}".upper(),
                flag=notes["flag"],
                kind=_kind(typing.get_type_hints(room)[item.name]),
                unit=notes["unit"],
                default=spelled(item.default),
                about=notes["about"],
                why=notes["why"],
                secret=notes["secret"],
            )


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Loaded:
    """The settings in force.

    Args:
        flags: name (`web.listen`) to what the command line says; None and () say nothing.
        environ: the environment; the process's own by default.
        file: the YAML file, which must exist if it is given.

    Raises:
        SettingsError: names the setting, where it stands and what is wrong.
    """
    said = {name: value for name, value in (flags or {}).items() if value not in (None, (), [])}
    variables = os.environ if environ is None else environ
    written = _read_file(file) if file else {}
    hints = typing.get_type_hints(Settings)
    values: dict[str, dict[str, Any]] = {topic: {} for topic in hints}
    origins: dict[str, str] = {}
    for entry in described():
        topic, _, name = entry.name.partition(".")
        origin, raw = _find(entry, said, variables, written, file)
        origins[entry.name] = origin
        if raw is not MISSING:
            hint = typing.get_type_hints(hints[topic])[name]
            values[topic][name] = _typed(entry, hint, raw, origin)
    rooms = {topic: room(**values[topic]) for topic, room in hints.items()}
    return Loaded(Settings(**rooms), origins)


def spelled(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _find(
    entry: Described,
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    written: Mapping[str, Any],
    file: Path | None,
) -> tuple[str, Any]:
    if entry.name in flags:
        if entry.secret:
            raise SettingsError(
                f"{entry.name} is a secret and has no flag: it would show in the process list",
                hint=f"set {entry.variable} or {entry.variable}_FILE",
            )
        return f"flag {entry.flag or '--set'}", flags[entry.name]
    if entry.variable in environ:
        return f"variable {entry.variable}", environ[entry.variable]
    if entry.secret and environ.get(f"{entry.variable}_FILE"):
        return f"variable {entry.variable}_FILE", _secret(environ[f"{entry.variable}_FILE"])
    if entry.name in written:
        return f"file {file}", written[entry.name]
    return "default", MISSING


def _secret(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"cannot read the secret file {path}: {error.strerror}") from None


def _read_file(file: Path) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - a tenth of a second that most starts save

    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise SettingsError(f"cannot read {file}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"{file} is no YAML: {error}") from None
    known = {entry.name for entry in described()}
    found: dict[str, Any] = {}
    for topic, room in _mapping(content, file, "the file").items():
        for name, value in _mapping(room, file, topic).items():
            if f"{topic}.{name}" not in known:
                raise SettingsError(
                    f"{file}: {topic}.{name} is no setting", hint="see: seedance settings"
                )
            found[f"{topic}.{name}"] = value
    return found


def _mapping(value: Any, file: Path, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(f"{file}: {where} must be a mapping", hint="topic: {name: value}")
    return {str(key): item for key, item in value.items()}


def _kind(hint: Any) -> str:
    return "list" if typing.get_origin(hint) is tuple else getattr(hint, "__name__", str(hint))


_KINDS = {"float": "number", "int": "whole number", "bool": "true or false", "str": "text"}
"""How people call the types of settings."""


def _typed(entry: Described, hint: Any, raw: Any, origin: str) -> Any:
    try:
        return _converted(hint, raw)
    except (TypeError, ValueError):
        shown = HIDDEN if entry.secret else repr(raw)
        unit = f" of {entry.unit}" if entry.unit else ""
        raise SettingsError(
            f"{entry.name} = {shown} ({origin}) is no {_KINDS.get(entry.kind, entry.kind)}{unit}",
            hint=f"the default is {entry.default or 'empty'}",
        ) from None


def _converted(hint: Any, raw: Any) -> Any:
    if typing.get_origin(hint) is tuple:
        parts: Sequence[Any] = raw.split(",") if isinstance(raw, str) else raw
        return tuple(str(part).strip() for part in parts if str(part).strip())
    if hint is bool:
        return _truth(raw)
    if hint is Path:
        return Path(str(raw)).expanduser()
    if isinstance(raw, bool | types.NoneType | dict | list):
        raise TypeError("not a single value")
    return hint(raw)


def _truth(raw: Any) -> bool:
    text = str(raw).strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError("neither true nor false")
    return text in _TRUE
