"""`seedancectl explain`: what a field of a manifest or a word of an answer means.

Both come from the code that uses them: fields from the models of `manifests`, words from the
catalogue in `facts.words`. No server is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated

import typer

from seedance.cli.output import show_text
from seedance.facts.errors import NotFoundError

GROUPS = ("reason", "flag", "kind", "key", "measure", "dimension")
"""Groups of the catalogue that people meet in answers."""


def word_codes() -> Iterator[str]:
    """Codes of the catalogue that can be explained: `reason:no-owner-key`."""
    from seedance.facts import words  # noqa: PLC0415  # the catalogue is large

    for code in words.CATALOGUES["en"]:
        if code.partition(":")[0] in GROUPS and words.sentence(code):
            yield code


def topics() -> list[str]:
    """All words and kinds that can be explained, for completion."""
    from seedance.manifests import explain as fields  # noqa: PLC0415

    return sorted({code.partition(":")[2] for code in word_codes()} | set(fields.kinds()))


def explain(
    topic: Annotated[
        str,
        typer.Argument(
            metavar="TOPIC",
            help="A kind or a field (PriceBook.spec.entries), or a word (no-owner-key, __idle__).",
            autocompletion=topics,
        ),
    ],
) -> None:
    """Explain a field of a manifest, or a reason, flag or key of an answer.

    Examples:
      seedancectl explain PriceBook.spec.entries
      seedancectl explain no-owner-key
      seedancectl explain __idle__
    """
    said = _word(topic)
    if not said:
        from seedance.manifests import explain as fields  # noqa: PLC0415  # brings pydantic

        kind = topic.partition(".")[0].lower()
        if kind not in {known.lower() for known in fields.kinds()}:
            near = get_close_matches(topic, topics(), n=3)
            raise NotFoundError(
                f"nothing is known of {topic!r}",
                hint=f"did you mean {', '.join(near)}?"
                if near
                else "see docs/reference/reasons.md",
            )
        said = fields.render(fields.explain(topic))
    show_text(said)


def _word(topic: str) -> str:
    wanted = topic.lower()
    codes = [code for code in word_codes() if wanted in (code, code.partition(":")[2])]
    return "\n\n".join(_said(code) for code in codes)


def _said(code: str) -> str:
    from seedance.facts import words  # noqa: PLC0415

    phrase = words.phrase(code)
    group, _, word = code.partition(":")
    lines = [f"{group.upper()}: {word} ({phrase.name})", f"  {phrase.sentence}"]
    if phrase.step:
        lines.append(f"  Next: {phrase.step}")
    return "\n".join(lines)
