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


def test_what_ran_for_minutes_is_measured_over_those(asking: Run, stub: Stub) -> None:
    """Three minutes of 0.5 cores requested and 0.3 used, the first half minute not known."""
    brief = row({"namespace": "ci", "workload": "build"}, "0.1", cpu=(0.025, 0.0125, "0.1"))
    brief["resources"]["cpu"] |= {"alive": 0.05, "covered": 0.05 * 5 / 6, "unused": 0.025 / 3}
    both = row({"namespace": "ci", "workload": "twins"}, "2", cpu=(48.0, 12.0, "2"))
    both["resources"]["cpu"]["alive"] = 48.0
    stub.give(PATH, answers.costs(brief, both, by=("namespace", "workload")))
    _, build, twins = asking("top", "workloads").out.splitlines()
    assert build.split()[2:5] == ["0.25", "0.50", "60%"]
    assert twins.split()[2:5] == ["0.50", "2.00", "25%"], "replicas beside each other add up"


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
