"""Whose a pod is: inheritance, keys in order, mapping, origins and reasons."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance.costs.ownership import (
    Level,
    resolve_annotations,
    resolve_labels,
    resolve_owner,
    rule_changes,
    rules_at,
)
from seedance.manifests.load import load_manifests
from seedance.manifests.ownership import OwnershipRules

EXAMPLES = Path(__file__).parents[2] / "examples"


def rules(name: str = "rules", **spec: Any) -> OwnershipRules:
    return OwnershipRules.model_validate(
        {
            "apiVersion": "cost.seedance.io/v2",
            "kind": "OwnershipRules",
            "metadata": {"name": name},
            "spec": spec,
        }
    )


def by_label(key: str) -> OwnershipRules:
    return rules(team={"from": [{"label": key}]})


def chain(
    pod: dict[str, str] | None = None,
    workload: dict[str, str] | None = None,
    namespace: dict[str, str] | None = None,
    node: dict[str, str] | None = None,
) -> list[Level]:
    return [
        Level("pod", pod or {}, {}),
        Level("workload", workload or {}, {}),
        Level("namespace", namespace or {}, {}),
        Level("node", node or {}, {}),
    ]


FIRST_CLUSTER = chain(
    pod={"team.io/name": "a"},
    workload={"owner": "d"},
    namespace={"team-io/name": "b", "owner": "n"},
)


@pytest.mark.parametrize(
    ("key", "value", "origin"),
    [
        ("team.io/name", "a", "pod:label team.io/name"),
        ("team-io/name", "b", "namespace:label team-io/name"),
        ("owner", "d", "workload:label owner"),
    ],
)
def test_each_raw_key_is_found_at_the_nearest_level(key: str, value: str, origin: str) -> None:
    assert resolve_owner(by_label(key), FIRST_CLUSTER)["team"] == (value, origin)


def test_the_namespace_of_the_same_name_in_another_cluster_keeps_its_own_owner() -> None:
    second = chain(namespace={"owner": "m"})
    assert resolve_owner(by_label("owner"), second)["team"] == ("m", "namespace:label owner")


def test_a_pod_without_any_key_says_why_it_has_no_owner() -> None:
    assert resolve_owner(by_label("owner"), chain())["team"] == ("", "no-owner-key")


def test_without_rules_and_for_a_dimension_that_rules_leave_out_the_reason_is_no_rules() -> None:
    none = resolve_owner(None, FIRST_CLUSTER)
    assert none == dict.fromkeys(("domain", "environment", "team"), ("", "no-rules"))
    assert resolve_owner(by_label("owner"), FIRST_CLUSTER)["domain"] == ("", "no-rules")


def test_an_earlier_key_on_the_node_beats_a_later_key_on_the_pod() -> None:
    two = rules(team={"from": [{"label": "team"}, {"label": "owner"}]})
    found = resolve_owner(two, chain(pod={"owner": "pod"}, node={"team": "node"}))
    assert found["team"] == ("node", "node:label team")


def test_labels_are_inherited_with_their_origin_and_the_nearest_wins() -> None:
    values, origins = resolve_labels(FIRST_CLUSTER)
    assert values == {"team.io/name": "a", "team-io/name": "b", "owner": "d"}
    assert origins == {"team.io/name": "pod", "team-io/name": "namespace", "owner": "workload"}


def test_annotations_are_inherited_alike_and_do_not_mix_with_labels() -> None:
    levels = [Level("pod", {"k": "label"}, {}), Level("namespace", {}, {"k": "note"})]
    assert resolve_annotations(levels) == ({"k": "note"}, {"k": "namespace"})
    annotated = rules(team={"from": [{"annotation": "k"}]})
    assert resolve_owner(annotated, levels)["team"] == ("note", "namespace:annotation k")


def test_the_nearer_of_two_workloads_wins() -> None:
    levels = [Level("workload", {"owner": "rs"}, {}), Level("workload", {"owner": "deploy"}, {})]
    assert resolve_owner(by_label("owner"), levels)["team"][0] == "rs"


def test_an_empty_value_counts_as_not_set() -> None:
    found = resolve_owner(by_label("owner"), chain(pod={"owner": ""}, namespace={"owner": "n"}))
    assert found["team"] == ("n", "namespace:label owner")


def test_the_default_holds_only_where_no_key_is_set() -> None:
    defaulted = rules(team={"from": [{"label": "owner"}], "default": "platform"})
    assert resolve_owner(defaulted, chain())["team"] == ("platform", "default")
    assert resolve_owner(defaulted, chain(pod={"owner": "x"}))["team"][0] == "x"


MAPPED = rules(
    environment={
        "from": [
            {"label": "env"},
            {
                "namespaceName": True,
                "unmatched": "skip",
                "values": [{"regex": "(.+)-prod", "to": "production"}],
            },
        ],
        "values": [
            {"regex": "p.*", "to": "some-p"},
            {"exact": ["prod", "prd"], "to": "production"},
            {"regex": "team-(.+)", "to": r"\1"},
        ],
        "default": "development",
    }
)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("prod", "production"),  # exact wins over the regex before it
        ("prd", "production"),
        ("perf", "some-p"),
        ("xprod", "xprod"),  # a regex must match the whole value
        ("team-search", "search"),
        ("other", "other"),
    ],
)
def test_values_are_mapped_exactly_first_then_by_the_first_regex(value: str, meant: str) -> None:
    assert resolve_owner(MAPPED, chain(pod={"env": value}))["environment"][0] == meant


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        ("ml-prod", ("production", "namespace:name")),
        ("ml", ("development", "default")),
        ("", ("development", "default")),
    ],
)
def test_the_name_of_the_namespace_counts_if_its_table_knows_it(
    namespace: str, expected: tuple[str, str]
) -> None:
    named = [Level("namespace", {}, {}, object_name=namespace)]
    labelled = [Level("namespace", {"kubernetes.io/metadata.name": namespace}, {})]
    assert resolve_owner(MAPPED, named)["environment"] == expected
    assert resolve_owner(MAPPED, labelled)["environment"] == expected


def test_a_skipped_value_lets_the_search_go_on_up_the_chain() -> None:
    skipping = rules(
        team={
            "from": [{"label": "owner", "unmatched": "skip"}],
            "values": [{"exact": "ml", "to": "ml"}],
        }
    )
    found = resolve_owner(skipping, chain(pod={"owner": "junk"}, namespace={"owner": "ml"}))
    assert found["team"] == ("ml", "namespace:label owner")


def test_the_newest_rules_in_force_count() -> None:
    old = rules("old", team={"default": "o"})
    new = rules("new", validFrom="2026-06-01T00:00:00Z", team={"default": "n"})
    gone = rules(
        "gone",
        validFrom="2026-07-01T00:00:00Z",
        validTo="2026-08-01T00:00:00Z",
        team={"default": "g"},
    )
    everything = [new, gone, old]

    def name_at(month: int) -> str:
        found = rules_at(everything, datetime(2026, month, 15, tzinfo=UTC))
        return found.name if found else ""

    assert [name_at(month) for month in (1, 6, 7, 8)] == ["old", "new", "gone", "new"]
    assert rules_at([gone], datetime(2026, 9, 1, tzinfo=UTC)) is None
    assert [at.month for at in rule_changes(everything)] == [6, 7, 8]


labels = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["", "x", "y", "z"]))


@settings(deadline=None)
@given(st.lists(labels, min_size=4, max_size=4), st.lists(st.sampled_from("abcd"), min_size=1))
def test_the_owner_is_the_first_key_at_its_nearest_level(
    found: list[dict[str, str]], keys: list[str]
) -> None:
    levels = chain(*found)
    many = rules(team={"from": [{"label": key} for key in keys]})
    expected = next(
        (
            (level.labels[key], f"{level.name}:label {key}")
            for key in keys
            for level in levels
            if level.labels.get(key)
        ),
        ("", "no-owner-key"),
    )
    assert resolve_owner(many, levels)["team"] == expected


def test_fifty_thousand_pods_take_less_than_a_second_and_a_half() -> None:
    found = load_manifests([EXAMPLES / "ownership.yaml"]).rules
    one = rules_at(found, datetime(2026, 11, 30, tzinfo=UTC))
    namespaces = [
        Level("namespace", {"kubernetes.io/metadata.name": f"ml-{i}-prod"}, {"x": "y"})
        for i in range(40)
    ]
    node = Level("node", {f"label-{i}": "v" for i in range(30)}, {})
    pods = [
        [
            Level("pod", {"app": f"a{i}", "team": f"team-{i % 50}"} if i % 3 else {}, {}),
            Level("workload", {"app": f"a{i}"}, {}),
            namespaces[i % 40],
            node,
        ]
        for i in range(50_000)
    ]
    began = time.process_time()
    for levels in pods:
        resolve_owner(one, levels)
    assert time.process_time() - began < 1.5
