"""Documentation out of the models."""

import pytest

from seedance.facts.errors import NotFoundError
from seedance.manifests.explain import FieldDoc, explain, kinds, reference, render


def everything(doc: FieldDoc) -> list[FieldDoc]:
    return [doc, *(one for below in doc.fields for one in everything(below))]


@pytest.mark.parametrize("kind", kinds())
def test_every_field_has_a_description_that_ends_in_a_full_stop(kind: str) -> None:
    for doc in everything(explain(kind)):
        assert doc.description.endswith("."), doc.path


def test_a_field_is_found_by_its_path_whatever_the_case() -> None:
    doc = explain("pricebook.SPEC.entries.pernode".replace("pernode", "nodehour"))
    assert (doc.path, doc.type, doc.required) == (
        "PriceBook.spec.entries.nodeHour",
        "amount",
        False,
    )


@pytest.mark.parametrize(
    ("topic", "message", "hint"),
    [
        ("PriceBok", "'PriceBok' is no kind", "did you mean PriceBook?"),
        ("PriceBook.spec.entry", "'entry' is no field of PriceBook.spec", "did you mean entries?"),
        ("PriceBook.kind.x", "'x' is no field of PriceBook.kind", "there is nothing below it"),
    ],
)
def test_an_unknown_topic_is_told_what_there_is(topic: str, message: str, hint: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        explain(topic)
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_the_text_names_kind_field_type_and_what_is_below() -> None:
    text = render(explain("PriceBook.spec.entries"))
    assert text.startswith("KIND:     PriceBook\nVERSION:  cost.seedance.io/v2\n")
    assert "FIELD:    entries <list of PriceEntry> -required-" in text
    assert "  nodeHour <amount>\n    Price of the whole node" in text
    assert "  gpuHour <amount or PerModel>" in render(explain("pricebook.spec.entries.perresource"))


def test_the_reference_has_every_field_once_for_each_part() -> None:
    text = reference()
    for kind in kinds():
        for doc in everything(explain(kind)):
            if doc.fields:
                assert f"`{doc.path}`" in text
            else:
                assert f"| `{doc.name}` |" in text
    assert text.count("| `cpuCoreHour` |") == 1
    assert text.count("| `annotation` |") == 1
