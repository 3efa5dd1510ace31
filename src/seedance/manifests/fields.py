"""What the models say of their fields: names as people write them, types in words, parts.

Used for the hints of errors (`load.py`) and for the documentation (`explain.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from seedance.manifests.objects import TypeWords

_PLAIN = {str: "text", int: "whole number", bool: "true or false"}


def names_of(model: type[BaseModel] | None) -> list[str]:
    """The fields of `model` as people write them, in order."""
    return [name for name, _ in fields_of(model)]


def fields_of(model: type[BaseModel] | None) -> Iterator[tuple[str, FieldInfo]]:
    """Name as people write it and description of each field of `model`, in order."""
    for name, info in model.model_fields.items() if model else ():
        yield info.alias or name, info


def model_of(root: type[BaseModel], loc: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model at `loc` below `root` (indices and unknown words are passed over), or None."""
    model: type[BaseModel] | None = root
    for part in loc:
        known = dict(fields_of(model))
        if isinstance(part, str) and part in known:
            model = part_of(known[part].annotation)
    return model


def part_of(annotation: Any) -> type[BaseModel] | None:
    """The model that a field of type `annotation` holds, alone, listed or optional, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    parts = (part_of(argument) for argument in get_args(annotation))
    return next((part for part in parts if part is not None), None)


def type_words(info: FieldInfo) -> str:
    """The type of a field in words, such as `amount` or `list of PriceEntry`."""
    marked = [item.words for item in info.metadata if isinstance(item, TypeWords)]
    return _worded(marked[0], info.annotation) if marked else _words(info.annotation)


def _worded(words: str, annotation: Any) -> str:
    part = part_of(annotation)
    return f"{words} {part.__name__}" if words.endswith(" or") and part else words


def _words(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        marked = [item.words for item in arguments[1:] if isinstance(item, TypeWords)]
        return _worded(marked[0], arguments[0]) if marked else _words(arguments[0])
    if origin in {UnionType, Union}:
        return " or ".join(_words(one) for one in arguments if one is not type(None))
    if origin is Literal:
        return " or ".join(str(one) for one in arguments)
    if origin is tuple:
        return f"list of {_words(arguments[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"mapping of text to {_words(arguments[1])}"
    return _PLAIN.get(annotation, getattr(annotation, "__name__", str(annotation)))
