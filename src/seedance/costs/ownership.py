"""Whose a pod is: labels inherited up the chain, and the three owners that rules make of them.

The chain is pod > workload > namespace > node: the nearest level that has a key gives its value,
and the answer keeps where that was. Keys are raw. For an owner, the keys of a dimension are tried
in order; the first that is set anywhere up the chain wins, so a key that stands earlier in the
rules beats a nearer level of a later key. Pure; see "Whose it is" in
`docs/explain/cost-arithmetic.md` and `docs/tasks/ownership.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from seedance.facts.costs import Reason
from seedance.manifests.ownership import DIMENSIONS, Dimension, OwnerKey, OwnershipRules

LevelName = Literal["pod", "workload", "namespace", "node"]

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
"""Label that the API server sets on every namespace to its name."""


@dataclass(frozen=True, slots=True)
class Level:
    """One link of the chain: labels and annotations with raw keys.

    `object_name` is the object's own name; of a namespace it may be "" where its labels have
    `kubernetes.io/metadata.name`, which the API server sets.
    """

    name: LevelName
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    object_name: str = ""


def resolve_labels(levels: Sequence[Level]) -> tuple[dict[str, str], dict[str, str]]:
    """Value and level (`pod`, `workload` …) of each label key; the nearest level wins.

    Args:
        levels: nearest first; several of one name (ReplicaSet, Deployment) are fine.
    """
    return _inherited([(level.name, level.labels) for level in levels])


def resolve_annotations(levels: Sequence[Level]) -> tuple[dict[str, str], dict[str, str]]:
    """Value and level of each annotation key; the nearest level wins. `levels` nearest first."""
    return _inherited([(level.name, level.annotations) for level in levels])


def _inherited(
    levels: Sequence[tuple[LevelName, Mapping[str, str]]],
) -> tuple[dict[str, str], dict[str, str]]:
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for name, found in reversed(levels):
        values |= found
        origins |= dict.fromkeys(found, name)
    return values, origins


def rules_at(rules: Sequence[OwnershipRules], at: datetime) -> OwnershipRules | None:
    """Of the rules in force at `at`, those of the newest validFrom; None if none are."""
    in_force = [one for one in rules if one.spec.holds_at(at)]
    if not in_force:
        return None
    return max(in_force, key=lambda one: _since(one.spec.valid_from))


def _since(at: datetime | None) -> float:
    return float("-inf") if at is None else at.timestamp()


def rule_changes(rules: Sequence[OwnershipRules]) -> list[datetime]:
    """Every instant at which other rules may come into force, ascending."""
    ends = {at for one in rules for at in (one.spec.valid_from, one.spec.valid_to)}
    return sorted(at for at in ends if at is not None)


def resolve_owner(
    rules: OwnershipRules | None, levels: Sequence[Level]
) -> dict[str, tuple[str, str]]:
    """Value and origin of each dimension (`domain`, `environment`, `team`).

    The origin is `pod:label team`, `namespace:annotation owner`, `namespace:name` or `default`.
    Where there is no value it is "", and the second is the reason: `no-rules` (none in force, or
    they leave this dimension out) or `no-owner-key` (no key is set up the chain).

    Args:
        rules: in force at the time, see `rules_at`.
        levels: nearest first: pod, workload(s), namespace, node.
    """
    by_dimension = rules.by_dimension if rules else {}
    return {name: _owner(by_dimension.get(name), levels) for name in DIMENSIONS}


def _owner(dimension: Dimension | None, levels: Sequence[Level]) -> tuple[str, str]:
    if dimension is None:
        return "", Reason.NO_RULES.value
    for key, table in dimension.plan:
        for level in levels:
            found = _found(key, level)
            if not found:
                continue
            value = table.look_up(found) if table.values else None
            if value is None and key.unmatched == "keep":
                value = found
            if value:
                return value, _origin(key, level)
    if dimension.default is not None:
        return dimension.default, "default"
    return "", Reason.NO_OWNER_KEY.value


def _found(key: OwnerKey, level: Level) -> str:
    if key.label:
        return level.labels.get(key.label, "")
    if key.annotation:
        return level.annotations.get(key.annotation, "")
    if level.name != "namespace":
        return ""
    return level.object_name or level.labels.get(NAMESPACE_NAME_LABEL, "")


def _origin(key: OwnerKey, level: Level) -> str:
    if key.label:
        return f"{level.name}:label {key.label}"
    if key.annotation:
        return f"{level.name}:annotation {key.annotation}"
    return "namespace:name"
