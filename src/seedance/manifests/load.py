"""Files to manifests: read, validate, check against each other, add the built-in price sheet.

The way of a file: `source.documents` reads YAML with lines → the model of its kind checks each
document → `checks` look at all of them together (equal names, ties, currency, units). Everything
that is wrong is found in one go and told in one `ManifestError`, each with file, line and path.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from seedance.facts.errors import ManifestError
from seedance.manifests import checks
from seedance.manifests.fields import model_of, names_of
from seedance.manifests.objects import API_VERSION, Envelope
from seedance.manifests.ownership import OwnershipRules
from seedance.manifests.pricebook import ListedBook, PriceBook
from seedance.manifests.source import Document, Place, documents, spell

KINDS: Mapping[str, type[Envelope]] = {"PriceBook": PriceBook, "OwnershipRules": OwnershipRules}
"""Every kind of manifest that can be given as a file."""

SUFFIXES = (".yaml", ".yml")
_SHEET = Path(__file__).parent / "sheets" / "list-prices.yaml"
_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Manifests:
    """What was loaded, with the built-in price sheet where it applies.

    `currency` is that of every book, `fingerprint` changes with any change of content that could
    change a cost, `notes` are sentences for people on what was left out.
    """

    books: tuple[PriceBook, ...] = ()
    rules: tuple[OwnershipRules, ...] = ()
    fingerprint: str = ""
    currency: str = "USD"
    notes: tuple[str, ...] = field(default=())


def load_manifests(paths: Sequence[Path]) -> Manifests:
    """The manifests of files and folders (their *.yaml and *.yml, sorted, not deeper).

    Raises:
        ManifestError: if anything is wrong with any of them; the message names each place.
    """
    read = [_read(file) for file in _files(paths)]
    return _assembled([document for found in read for document in found])


def load_text(text: str, *, file: str = "<text>") -> Manifests:
    """The manifests in `text`, as `load_manifests`; `file` is the name that errors give."""
    return _assembled(list(documents(text, file=file)))


def check_store_currency(manifests: Manifests, stored: Collection[str]) -> None:
    """Refuse manifests in another currency than the costs that a store already holds.

    Args:
        manifests: what was loaded.
        stored: currencies of the prices in the store.

    Raises:
        ManifestError: naming both currencies.
    """
    others = sorted({currency for currency in stored if currency} - {manifests.currency})
    if others:
        raise ManifestError(
            f"the price books are in {manifests.currency}, the costs in this store in "
            f"{', '.join(others)}",
            hint="a store has one currency and Seedance does not convert: state the prices in "
            f"{others[0]}, or start with an empty --data folder",
        )


@cache
def builtin_books() -> tuple[PriceBook, ...]:
    """The built-in sheet of list prices."""
    found = documents(_SHEET.read_text(encoding="utf-8"), file=_SHEET.name)
    return tuple(ListedBook.model_validate(document.data) for document in found)


def _files(paths: Sequence[Path]) -> list[Path]:
    files: dict[Path, Path] = {}
    for path in paths:
        for file in _expanded(path):
            files.setdefault(file.resolve(), file)
    return list(files.values())


def _expanded(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
        if not found:
            raise ManifestError(
                "the folder holds no manifest",
                file=str(path),
                hint="manifests end in .yaml or .yml; sub-folders are not read",
            )
        return found
    return [path]


def _read(file: Path) -> list[Document]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError(
            f"not UTF-8 at byte {error.start}", file=str(file), hint="save it as UTF-8"
        ) from None
    except OSError as error:
        raise ManifestError(
            f"cannot be read: {error.strerror}", file=str(file), hint="check path and permissions"
        ) from None
    return list(documents(text, file=str(file)))


def _assembled(found: Sequence[Document]) -> Manifests:
    loaded: list[tuple[Document, Envelope]] = []
    errors: list[ManifestError] = []
    for document in found:
        try:
            loaded.append((document, _model(document)))
        except ValidationError as error:
            errors += _located(document, error)
        except ManifestError as error:
            errors.append(error)
    errors += checks.all_of(loaded, listed=builtin_books())
    if errors:
        raise _together(errors)
    books = tuple(model for _, model in loaded if isinstance(model, PriceBook))
    rules = tuple(model for _, model in loaded if isinstance(model, OwnershipRules))
    return _with_sheet(books, rules)


def _with_sheet(books: tuple[PriceBook, ...], rules: tuple[OwnershipRules, ...]) -> Manifests:
    currency = books[0].spec.currency if books else "USD"
    listed = builtin_books()
    notes: list[str] = []
    if any(not book.spec.builtin for book in books):
        listed = ()
    elif any(book.spec.currency != currency for book in listed):
        listed = ()
        notes.append(
            f"The built-in list prices are in US dollars and are left out, because the price "
            f"books are in {currency}: nodes that no book prices are unpriced."
        )
    everything = (*books, *listed)
    return Manifests(
        books=everything,
        rules=rules,
        fingerprint=_fingerprint((*everything, *rules)),
        currency=currency,
        notes=tuple(notes),
    )


def _fingerprint(models: Sequence[Envelope]) -> str:
    texts = sorted(
        json.dumps(model.model_dump(mode="json", by_alias=True), sort_keys=True) for model in models
    )
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _model(document: Document) -> Envelope:
    data = document.data
    if not isinstance(data, dict):
        raise _at(document, (), "a manifest is a mapping", hint="start with apiVersion and kind")
    version, kind = data.get("apiVersion"), data.get("kind")
    if version != API_VERSION:
        raise _at(
            document,
            ("apiVersion",),
            f"{version!r} is no API version of Seedance" if version else "apiVersion is missing",
            hint=f"write apiVersion: {API_VERSION}",
        )
    if not isinstance(kind, str) or kind not in KINDS:
        raise _at(
            document,
            ("kind",),
            f"the kind {kind!r} is not known" if kind else "kind is missing",
            hint=f"known kinds: {', '.join(KINDS)}",
        )
    return KINDS[kind].model_validate(data)


def _at(document: Document, place: Place, message: str, *, hint: str = "") -> ManifestError:
    return ManifestError(
        message,
        file=document.file,
        line=document.line_of(place),
        path=spell(place),
        hint=hint,
    )


def _located(document: Document, error: ValidationError) -> Iterator[ManifestError]:
    kind = KINDS[document.data["kind"]]
    for detail in error.errors(include_url=False):
        place = _place(document, detail["loc"])
        context: dict[str, Any] = detail.get("ctx", {})
        place = (*place, *context.get("at", ()))
        message, hint = _words(detail, kind)
        yield _at(document, place, message, hint=hint)


def _place(document: Document, loc: Place) -> Place:
    """`loc` without what pydantic adds to it and nobody wrote, such as the word `[key]`."""
    place: Place = ()
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        if (*place, part) in document.lines or (last and part != "[key]"):
            place = (*place, part)
    return place


def _words(detail: ErrorDetails, kind: type[BaseModel]) -> tuple[str, str]:
    loc, name = detail["loc"], str(detail["loc"][-1]) if detail["loc"] else ""
    context: dict[str, Any] = detail.get("ctx", {})
    match detail["type"]:
        case "manifest":
            return context["message"], context["hint"]
        case "extra_forbidden":
            known = names_of(model_of(kind, loc[:-1]))
            close = difflib.get_close_matches(name, known, n=1)
            guess = f"did you mean {close[0]}? " if close else ""
            return f"unknown field {name}", f"{guess}known here: {', '.join(known)}"
        case "missing":
            return f"{name} is missing", _description(kind, loc)
        case "string_type":
            return "this must be text", f'write it in quotes: "{detail["input"]}"'
        case "model_type" | "dict_type":
            return "this must be a mapping", "indent keys below it"
        case "tuple_type":
            return "this must be a list", "start each item with '- '"
    return detail["msg"][:1].lower() + detail["msg"][1:], _description(kind, loc)


def _description(kind: type[BaseModel], loc: Place) -> str:
    model = model_of(kind, loc[:-1])
    for info in model.model_fields.values() if model else ():
        if info.alias == loc[-1]:
            return info.description or ""
    return ""


def _together(errors: Sequence[ManifestError]) -> ManifestError:
    first, *others = errors
    if not others:
        return first
    lines = [_line(error) for error in errors[:_MOST_ERRORS]]
    if len(errors) > _MOST_ERRORS:
        lines.append(f"and {len(errors) - _MOST_ERRORS} more")
    whole = ManifestError("\n".join(lines))
    whole.file, whole.line, whole.path = first.file, first.line, first.path
    return whole


def _line(error: ManifestError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)
