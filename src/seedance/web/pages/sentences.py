"""Page sentences: text of the catalogue with figures that link to the rows behind them."""

from __future__ import annotations

from markupsafe import Markup, escape

from seedance.facts import words


def figure(text: str, href: str | None, kind: str = "") -> Markup:
    """A figure inside a sentence; `kind` is a CSS class such as `waste`."""
    if href is None:
        return Markup("<b>{}</b>").format(text)
    return Markup('<a class="{}" href="{}">{}</a>').format(kind or "fig", href, text)


def sentence(code: str, lang: str = "en", **values: Markup | str) -> Markup:
    """The sentence of `code` with `values` filled in, escaped unless they are markup."""
    return escape(words.sentence(code, lang)).format(**values)


def join(*parts: Markup | None) -> Markup:
    """Sentences after each other, those that do not apply (None) left out."""
    return Markup(" ").join(part for part in parts if part)
