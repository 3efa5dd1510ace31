"""`seedancectl cost`: what is asked, what is shown, and what the reader is told beside."""

import csv
import io
import json
import shlex

import pytest
import yaml

from seedance.cli.client import Answer
from seedance.facts.costquery import CostQuery

from . import answers
from .answers import costs, row
from .conftest import Asked, Run, Stub, golden

PATH = "/api/v1/costs"


def by_team() -> str:
    return costs(
        row({"team": "vision"}, "9.5", unused_cost="4.25", gpu=(24.0, 20.0, "7.5")),
        row({"team": "__idle__"}, "2", unused_cost=None),
        row({"team": "search"}, "0.000004", cpu=(0.0, 0.0, "0.000004"), memory=None),
        row(
            {"team": "__unallocated__"},
            None,
            cpu=(2.0, None, None),
            memory=(8.0, None, None),
            reasons={"team": "no-owner-key"},
            flags=["no-metrics"],
            unpriced={"cpu": 2.0, "memory": 8.0},
            price_sources=[
                {
                    "book": "",
                    "entry": "",
                    "source": "",
                    "currency": "",
                    "estimate": False,
                    "reason": "no-matching-entry",
                }
            ],
        ),
        by=("team",),
        hidden={"count": 3, "cost": "0.75"},
        provisional=True,
        notes=["prices are list prices"],
        shares={
            "idle": {
                "numerator": "idle cost",
                "denominator": "the cost of the nodes",
                "value": "2",
                "share": 0.163,
            }
        },
    )


def test_the_table_is_kubectl_like_and_adds_up(asking: Run, stub: Stub) -> None:
    stub.give(PATH, by_team())
    ended = asking("cost", "--by", "team")
    assert ended.code == 0
    golden("cost_by_team.txt", ended.out)
    golden("cost_by_team.err.txt", ended.err)


def test_wide_says_why_something_is_unknown(asking: Run, stub: Stub) -> None:
    stub.give(PATH, by_team())
    out = asking("cost", "--by", "team", "-o", "wide").out
    golden("cost_by_team_wide.txt", out)
    assert "team=no-owner-key,cpu=unpriced,memory=unpriced,no-matching-entry" in out


def test_json_is_the_body_byte_for_byte(asking: Run, stub: Stub) -> None:
    stub.give(PATH, by_team())
    ended = asking("cost", "-o", "json")
    assert ended.out == by_team() + "\n"
    assert ended.err == ""


def test_yaml_is_the_same_document(asking: Run, stub: Stub) -> None:
    stub.give(PATH, by_team())
    assert yaml.safe_load(asking("cost", "-o", "yaml").out) == json.loads(by_team())


def test_names_are_dimension_and_value(asking: Run, stub: Stub) -> None:
    stub.give(PATH, costs(row({"namespace": "ml", "team": "v"}, "1"), by=("namespace", "team")))
    assert asking("cost", "-o", "name").out == "namespace/ml,team/v\n"


def test_the_question_is_sent_as_written(asking: Run, stub: Stub) -> None:
    stub.give(PATH, by_team())
    asking(
        *("cost", "--by", "team,label:app", "--window", "lastmonth", "--step", "day"),
        *("--filter", "team!:x", "--filter", "label:app!=web", "-n", "ml", "--cluster", "prod"),
        *("-l", "tier=gpu,size!=s", "--zone", "Asia/Shanghai", "--idle", "share"),
        *("--idle-by-node", "--sort", "-name", "--limit", "7", "--offset", "3"),
    )
    assert stub.asked[0].params == [
        ("window", "lastmonth"),
        ("by", "team,label:app"),
        ("filter", "team!:x"),
        ("filter", "label:app!=web"),
        ("filter", "namespace:ml"),
        ("filter", "cluster:prod"),
        ("filter", "label[tier]=gpu"),
        ("filter", "label[size]!=s"),
        ("step", "day"),
        ("zone", "Asia/Shanghai"),
        ("idle", "share"),
        ("idleByNode", "true"),
        ("sort", "-name"),
        ("limit", "7"),
        ("offset", "3"),
    ]


def test_steps_start_the_row(asking: Run, stub: Stub) -> None:
    items = [
        row(
            {"namespace": "ml"},
            "1",
            start=f"2026-11-{day}T16:00:00Z",
            end=f"2026-11-{day}T17:00:00Z",
        )
        for day in (28, 29)
    ]
    stub.give(PATH, costs(*items, step="hour"))
    lines = asking("cost", "--step", "hour", "--zone", "Asia/Shanghai").out.splitlines()
    assert lines[0].startswith("START              NAMESPACE")
    assert lines[1].startswith("2026-11-29 00:00   ml")
    stub.give(PATH, costs(*items, step="day"))
    assert asking("cost", "--step", "day").out.splitlines()[1].startswith("2026-11-28   ml")


def test_no_dimension_is_one_row(asking: Run, stub: Stub) -> None:
    stub.give(PATH, costs(row({}, "1"), by=()))
    lines = asking("cost", "--by", "").out.splitlines()
    assert lines[0].startswith("ALL ")
    assert lines[1].startswith("everything ")


def test_rows_of_other_pages_are_a_row(asking: Run, stub: Stub) -> None:
    page = {"limit": 1, "offset": 0, "total": 12, "rest": "3.5"}
    stub.give(PATH, costs(row({"namespace": "ml"}, "1"), page=page))
    ended = asking("cost", "--limit", "1")
    assert [line.split()[:2] for line in ended.out.splitlines()][2] == ["(11", "more)"]
    assert "--limit 0 shows all rows" in ended.err


def test_all_rows_are_read_page_by_page(
    asking: Run, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seedance.cli.pages.PAGE_ROWS", 2)

    def page(asked: Asked) -> object:
        params = dict(asked.params)
        at, rows = int(params.get("offset", 0)), int(params["limit"])
        names = [f"ns-{number}" for number in range(5)][at : at + rows]
        paged = {"limit": rows, "offset": at, "total": 5}
        return json.loads(costs(*(row({"namespace": name}, "1") for name in names), page=paged))

    stub.give_each(PATH, page)
    found = json.loads(asking("cost", "--limit", "0", "-o", "json").out)
    assert [item["keys"]["namespace"] for item in found["items"]] == [f"ns-{n}" for n in range(5)]
    assert found["page"] == {"limit": 5, "offset": 0, "total": 5, "rest": None}


@pytest.mark.parametrize("output", ["json", "csv"])
def test_a_step_asks_for_as_many_keys_as_fit_into_one_answer(
    asking: Run, stub: Stub, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.setattr("seedance.cli.pages.MAX_ROWS", 6)

    def page(asked: Asked) -> object:
        params = dict(asked.params)
        at, keys = int(params.get("offset", 0)), int(params["limit"])
        assert keys * 3 <= 6
        names = [f"ns-{number}" for number in range(5) for _ in range(3)][at * 3 : (at + keys) * 3]
        if params.get("format") == "csv":
            return "\r\n".join(["namespace", *names, ""])
        paged = {"limit": keys, "offset": at, "total": 5, "rest": str(15 - len(names))}
        answer = json.loads(costs(*(row({"namespace": name}, "1") for name in names), page=paged))
        answer["total"]["cost"] = "15"
        return {**answer, "steps": [{}, {}, {}]}

    stub.give_each(PATH, page)
    out = asking("cost", "--step", "day", "--limit", "0", "-o", output).out
    if output == "csv":
        assert out.split() == ["namespace", *(f"ns-{n}" for n in range(5) for _ in range(3))]
        return
    found = json.loads(out)
    assert len(found["items"]) == 15
    assert found["page"] == {"limit": 5, "offset": 0, "total": 5, "rest": "0"}


def test_csv_is_the_servers_under_one_header(
    asking: Run, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.give(PATH, 'namespace,cost\r\nml,1\r\n"a\nb",2\r\n', media="text/csv")
    assert asking("cost", "-o", "csv").out == 'namespace,cost\r\nml,1\r\n"a\nb",2\r\n'
    monkeypatch.setattr("seedance.cli.pages.PAGE_ROWS", 2)
    pages = iter(["h\r\na\r\nb\r\n", "h\r\nc\r\n"])
    monkeypatch.setattr(
        "seedance.cli.client.Client.get",
        lambda *_, **__: Answer(next(pages).encode(), "text/csv"),
    )
    found = list(csv.reader(io.StringIO(asking("cost", "-o", "csv", "--limit", "0").out)))
    assert found == [["h"], ["a"], ["b"], ["c"]]


def test_an_empty_window_is_code_6(asking: Run, stub: Stub) -> None:
    stub.give(PATH, costs())
    ended = asking("cost")
    assert (ended.code, ended.out) == (6, "")
    assert "no cost in the window" in ended.err


def test_a_filter_that_leaves_nothing_says_so_and_json_still_comes(asking: Run, stub: Stub) -> None:
    stub.give(PATH, costs(hidden={"count": 4, "cost": "12"}))
    ended = asking("cost", "-n", "nobody", "-o", "json")
    assert ended.code == 6
    assert json.loads(ended.out)["items"] == []
    assert "4 rows are there without" in ended.err


def test_a_label_cannot_drive_the_terminal(asking: Run, stub: Stub) -> None:
    stub.give(PATH, costs(row({"label:app": "a\x1b[31mred\nb"}, "1"), by=("label:app",)))
    out = asking("cost", "--by", "label:app").out
    assert "\x1b" not in out
    assert r"a\x1b[31mred\nb" in out


def test_the_window_is_told_in_the_zone_asked_for(asking: Run, stub: Stub) -> None:
    window = {
        "start": "2026-11-29T16:00:00Z",
        "end": "2026-11-30T12:00:00Z",
        "words": "today",
        "zone": "Asia/Shanghai",
        "snapped": "widened to whole hours: minutes are kept 35 days",
    }
    stub.give(PATH, costs(row({"namespace": "ml"}, "1"), window=window))
    err = asking("cost", "--zone", "Asia/Shanghai").err
    assert "2026-11-30 00:00 to 2026-11-30 20:00 Asia/Shanghai" in err
    assert "widened to whole hours" in err


def test_the_same_numbers_come_from_the_command_that_the_answer_names(
    asking: Run, stub: Stub
) -> None:
    query = CostQuery(
        window="7d",
        by=("namespace", "label:app"),
        filters=('team:"a b",c', "namespace!:kube-system"),
        step="6h",
        zone="Asia/Shanghai",
        sort="-unusedCost",
        limit=7,
        offset=14,
        idle="share",
        idle_by_node=True,
    )
    stub.give(PATH, by_team())
    program, *words = shlex.split(query.command())
    assert program == "seedancectl"
    assert asking(*words).code == 0
    asked = dict(stub.asked[0].params) | {"filter": ""}
    assert asked == dict(query.params()) | {"filter": ""}
    assert [value for key, value in stub.asked[0].params if key == "filter"] == list(query.filters)


def test_answers_module_builds_what_the_server_builds() -> None:
    assert json.loads(answers.costs(row({"namespace": "x"}, "1")))["total"]["cost"] == "1"
