"""The roles that we ask people to grant are exactly what is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from seedance.intake.inventory import RESOURCES

RBAC = Path(__file__).parents[2] / "deploy" / "rbac.yaml"


def rights(role: str) -> set[tuple[str, str, str]]:
    documents: list[dict[str, Any]] = list(yaml.safe_load_all(RBAC.read_text("utf-8")))
    found = next(
        document
        for document in documents
        if document["kind"] == "ClusterRole" and document["metadata"]["name"] == role
    )
    return {
        (group, resource, verb)
        for rule in found["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_inventory_lists_and_watches_its_kinds_and_gets_one_namespace() -> None:
    used = {(r.group, r.plural, verb) for r in RESOURCES for verb in ("list", "watch")}
    assert rights("seedance-inventory") == used | {("", "namespaces", "get")}


def test_kubelets_are_read_and_nothing_else() -> None:
    assert rights("seedance-kubelets") == {("", "nodes/proxy", "get")}
