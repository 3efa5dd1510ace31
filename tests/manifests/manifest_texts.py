"""Manifests as text, for tests that read them, and what they are refused with."""

import textwrap

import pytest

from seedance.facts.errors import ManifestError
from seedance.manifests.load import load_text

HEAD = "apiVersion: cost.seedance.io/v2\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n"

GOOD = "{name: a, nodeHour: 1}"
"""An entry that nothing is wrong with."""


def book(spec: str, *, name: str = "mine") -> str:
    return HEAD.format(kind="PriceBook", name=name) + textwrap.indent(
        "currency: USD\nsource: s\n" + textwrap.dedent(spec), "  "
    )


def entries(*lines: str, name: str = "mine") -> str:
    return book("entries:\n" + "\n".join(f"- {line}" for line in lines), name=name)


def rules(spec: str, *, name: str = "owners") -> str:
    return HEAD.format(kind="OwnershipRules", name=name) + textwrap.indent(
        textwrap.dedent(spec), "  "
    )


def refused(text: str) -> str:
    with pytest.raises(ManifestError) as caught:
        load_text(text, file="f.yaml")
    return f"{caught.value} ({caught.value.hint})" if caught.value.hint else str(caught.value)
