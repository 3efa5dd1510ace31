import shlex
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance.facts.costquery import CostQuery, parse_dimension, parse_dimensions
from seedance.facts.errors import UsageError
from seedance.facts.filters import Comparison, parse_filters, quote_value, spell_filter

VALUES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("namespace:ml", Comparison("namespace", "equals", False, ("ml",))),
        ("namespace=ml,web", Comparison("namespace", "equals", False, ("ml", "web"))),
        ("label:app!=x", Comparison("label:app", "equals", True, ("x",))),
        ("label:app.kubernetes.io/name:x", Comparison(
            "label:app.kubernetes.io/name", "equals", False, ("x",))),
        ('label[app]:"a b"', Comparison("label:app", "equals", False, ("a b",))),
        ('pod~:"train"', Comparison("pod", "contains", False, ("train",))),
        ('pod!<~:"tr"', Comparison("pod", "starts", True, ("tr",))),
        (r'team:"say \"hi\""', Comparison("team", "equals", False, ('say "hi"',))),
        ("controllerName:api", Comparison("workload", "equals", False, ("api",))),
        ("node:__idle__", Comparison("node", "equals", False, ("__idle__",))),
    ],
)  # fmt: skip
def test_comparisons(text: str, found: Comparison) -> None:
    assert parse_filters((text,)) == (found,)


def test_all_comparisons_of_a_filter_hold() -> None:
    text = 'namespace:"a","b"+label[app]:"x" team!:"y"'
    assert [item.dimension for item in parse_filters((text,))] == ["namespace", "label:app", "team"]


@pytest.mark.parametrize(
    "text",
    ["namespace", "namespace:", 'namespace:"', "colour:red", "label:x", ":a", "a|b", "(node:a)",
     "node:a|node:b", "node:a,,b", "label[]:x", "x" * 5000],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_filters((text,))
    assert str(caught.value)


@given(value=VALUES, key=st.sampled_from(["namespace", "label:app", "annotation:x.io/y"]))
def test_what_is_spelled_is_read_back(value: str, key: str) -> None:
    comparison = Comparison(key, "equals", False, (value, "b"))
    assert parse_filters((spell_filter(comparison),)) == (comparison,)


@given(text=st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(UsageError):
        parse_filters((text,))


def test_dimensions_have_other_names() -> None:
    assert parse_dimension("ns") == "namespace"
    assert parse_dimension("INSTANCETYPE") == "instanceType"
    assert parse_dimension("label[app]") == "label:app"
    for wrong in ("label", "label:", "colour", ""):
        with pytest.raises(UsageError):
            parse_dimension(wrong)
    with pytest.raises(UsageError, match="twice"):
        parse_dimensions(("namespace", "ns"))
    with pytest.raises(UsageError, match="more than"):
        parse_dimensions(tuple(f"label:{n}" for n in range(7)))


@given(value=VALUES)
def test_links_carry_the_same_question(value: str) -> None:
    query = CostQuery(
        window="7d", by=("team", "label:app"), filters=(f"team:{quote_value(value)}",), limit=5
    )
    assert parse_qsl(urlsplit(query.url("/api/v1/costs")).query) == query.params()
    words = shlex.split(query.command())
    assert words[words.index("--filter") + 1] == query.filters[0]


def test_defaults_are_left_out_of_links() -> None:
    assert CostQuery().url("/costs") == "/costs?window=today&by=namespace"
    query = CostQuery(idle="share", idle_by_node=True)
    assert query.command().endswith("--idle share --idle-by-node --zone UTC")


def test_the_command_leaves_nothing_to_the_readers_context() -> None:
    words = shlex.split(CostQuery(filters=("namespace:ml",)).command())
    assert "-A" in words
    assert words[words.index("--zone") + 1] == "UTC"
