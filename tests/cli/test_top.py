"""`seedancectl top`: means over a window, largest cost first."""

import pytest

from . import answers
from .answers import row
from .conftest import Run, Stub, golden

PATH = "/api/v1/costs"


def test_workloads_by_cost_per_hour(asking: Run, stub: Stub) -> None:
    stub.give(
        PATH,
        answers.costs(
            row({"namespace": "ml", "workload": "trainer"}, "24"),
            row({"namespace": "shop", "workload": "web"}, "2.4", cpu=(24.0, None, "2.4")),
            row({"namespace": "__idle__", "workload": "__idle__"}, None),
            by=("namespace", "workload"),
        ),
    )
    ended = asking("top", "workloads", "-n", "ml")
    golden("top_workloads.txt", ended.out)
    asked = dict(stub.asked[0].params)
    assert asked["window"] == "1h"
    assert asked["by"] == "namespace,workload"
    assert asked["filter"] == "namespace:ml"
    assert asked["limit"] == "20"


@pytest.mark.parametrize(
    ("subject", "by"),
    [("nodes", "node"), ("pods", "namespace,pod"), ("namespaces", "namespace"), ("teams", "team")],
)
def test_each_subject_is_a_dimension(asking: Run, stub: Stub, subject: str, by: str) -> None:
    dimensions = tuple(by.split(","))
    stub.give(PATH, answers.costs(row(dict.fromkeys(dimensions, "x"), "1"), by=dimensions))
    ended = asking("top", subject, "-o", "name")
    assert dict(stub.asked[0].params)["by"] == by
    assert ended.out == f"{dimensions[-1]}/x\n"


def test_an_empty_window_is_code_6(asking: Run, stub: Stub) -> None:
    stub.give(PATH, answers.costs())
    assert asking("top", "teams").code == 6
