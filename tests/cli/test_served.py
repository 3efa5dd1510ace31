"""The client against the real server: the same numbers, every verb, format and code."""

import json
import shlex
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

from seed import cost_of, seed
from seedance.store.store import Store
from serving import AGES, Served, served_store

from .conftest import Run, golden

TWO_DAYS = "2026-11-28T00:00:00Z,2026-11-30T00:00:00Z"
NOON = "2026-11-30T12:00:00Z"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("seeded")
    with Store.open(folder, retention=AGES, memory_bytes=1 << 30) as store:
        seed(store)
    with served_store(folder, tmp_path_factory.mktemp("tokens") / "tokens.json") as running:
        yield running


@pytest.fixture
def live(ctl: Run, served: Served, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`ctl` that talks to the real server, with ages as of the seed's noon."""
    monkeypatch.setenv("SEEDANCE_SERVER", served.url)
    monkeypatch.setattr("seedance.cli.get.utc_now", served.context.now)
    monkeypatch.setattr("seedance.cli.describe.utc_now", served.context.now)
    return ctl


def as_role(served: Served, home: Path, role: str) -> str:
    path = home / f"{role}.token"
    path.write_text(served.tokens[role])
    path.chmod(0o600)
    return f"--token-file={path}"


def test_the_cost_table_of_two_days(live: Run) -> None:
    ended = live("cost", "--by", "namespace,team", "--window", TWO_DAYS)
    assert ended.code == 0, ended.err
    golden("served_cost.txt", ended.out)
    assert "2026-11-28 00:00 to 2026-11-30 00:00 UTC" in ended.err


def test_json_is_what_the_api_says_and_right(live: Run, served: Served) -> None:
    ended = live("cost", "--by", "team", "--window", TWO_DAYS, "-o", "json")
    params = {"window": TWO_DAYS, "by": "team", "step": "none", "zone": "UTC", "idle": "rows"}
    direct = httpx2.get(
        f"{served.url}/api/v1/costs", params=params | {"sort": "-cost", "limit": "100"}
    )
    assert ended.out == direct.text + "\n"
    found = {item["keys"]["team"]: item["cost"] for item in json.loads(ended.out)["items"]}
    assert Decimal(found["vision"]) == cost_of(3, hours=48)
    assert Decimal(found["checkout"]) == cost_of(1, 2, hours=48)


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "name", "csv"])
@pytest.mark.parametrize(
    "line",
    [
        "cost --by namespace,workload,label:app --step day",
        "cost --by '' --idle share",
        "cost --by pod -n ml -l app=train --idle hide",
        "top workloads --window 7d",
        "top nodes --window 24h",
        "get clusters",
        "get nodes --at 2026-11-30T12:00:00Z",
        "get namespaces",
        "get workloads --sort-by -age",
        "get pods -n ml -l app",
        "describe cluster prod",
    ],
)
def test_every_verb_in_every_format(live: Run, line: str, output: str) -> None:
    ended = live(*shlex.split(line), "-o", output)
    assert ended.code == 0, ended.err
    assert "error" not in ended.err


def test_everything_that_is_got_can_be_described(live: Run) -> None:
    for kind in ("clusters", "nodes", "namespaces", "workloads", "pods"):
        listed = json.loads(live("get", kind, "-o", "json").out)["items"]
        assert listed, kind
        for item in listed:
            ended = live(
                *("describe", kind, item["name"], "--cluster", item["clusterName"]),
                *(["-n", item["namespace"]] if item["namespace"] else []),
            )
            assert ended.code == 0, ended.err
            assert f"Name:             {item['name']}" in ended.out


def test_the_command_in_the_answer_gives_the_same_rows(live: Run) -> None:
    line = shlex.split(f"cost --by team --window {TWO_DAYS} --filter namespace!:ml --idle share")
    first = json.loads(live(*line, "-o", "json").out)
    again = json.loads(live(*shlex.split(first["links"]["cli"])[1:], "-o", "json").out)
    assert again["items"] == first["items"]


def test_rows_and_hidden_are_the_whole(live: Run) -> None:
    whole = json.loads(live("cost", "--window", TWO_DAYS, "--by", "", "-o", "json").out)
    part = json.loads(live("cost", "--window", TWO_DAYS, "-n", "ml", "-o", "json").out)
    assert Decimal(part["total"]["cost"]) + Decimal(part["hidden"]["cost"]) == Decimal(
        whole["total"]["cost"]
    )
    assert "(hidden)" in live("cost", "--window", TWO_DAYS, "-n", "ml").out


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("cost --window 2026-11-30T00:00:00Z,2026-11-29T00:00:00Z", 2),
        ("cost --window 2999-01-01T00:00:00Z,2999-01-02T00:00:00Z", 2),
        ("cost --window someday", 2),
        ("cost --by colour", 2),
        ("cost --sort-by colour", 2),
        ("cost --window 2020-01-01,2020-01-02", 6),
        ("cost -n nowhere", 6),
        ("get pods --sort-by colour", 2),
        ("get pods -l '((('", 2),
        ("get pods --cluster nowhere", 3),
        ("get pod nowhere", 3),
        ("describe node nowhere", 3),
    ],
)
def test_what_the_server_refuses_has_its_code(live: Run, line: str, code: int) -> None:
    ended = live(*shlex.split(line))
    assert ended.code == code, ended.err
    assert ended.err.startswith("error: ")


def test_tokens_of_roles(live: Run, served: Served, alone: Path) -> None:
    assert live("cost", as_role(served, alone, "view")).code == 0
    assert live("cost", as_role(served, alone, "admin")).code == 0
    ended = live("cost", as_role(served, alone, "ingest"))
    assert ended.code == 5
    assert "needs the role view" in ended.err
    unknown = alone / "unknown"
    unknown.write_text("sdt_00000000_nothing")
    unknown.chmod(0o600)
    assert live("cost", "--token-file", str(unknown)).code == 5


def test_a_bound_token_sees_its_cluster_alone(live: Run, served: Served, alone: Path) -> None:
    found = json.loads(live("get", "nodes", "-o", "json", as_role(served, alone, "bound")).out)
    assert {item["clusterName"] for item in found["items"]} == {"lab"}


def test_version_of_the_real_server(live: Run) -> None:
    ended = live("version")
    assert ended.code == 0
    assert ended.out.count("Version: ") == 2
