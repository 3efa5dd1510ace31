import re
from decimal import Decimal

import httpx2
import pytest
from structlog.testing import capture_logs

from seed import LENGTH, cost_of
from serving import Served

WINDOW = {"window": "2026-11-28,2026-12-01"}
EVERYTHING = cost_of(*range(20))


def test_items_and_hidden_are_the_whole_window(client: httpx2.Client) -> None:
    answer = client.get(
        "/api/v1/costs", params={**WINDOW, "by": "pod", "filter": "namespace:ml"}
    ).json()
    shown = sum(Decimal(item["cost"]) for item in answer["items"] if item["cost"] is not None)
    assert shown == Decimal(answer["total"]["cost"])
    assert shown + Decimal(answer["hidden"]["cost"]) == EVERYTHING
    assert answer["hidden"]["count"] > 0


def test_cost_by_team_names_the_reason(client: httpx2.Client) -> None:
    answer = client.get("/api/v1/costs", params={**WINDOW, "by": "team"}).json()
    by_team = {item["keys"]["team"]: item for item in answer["items"]}
    assert Decimal(by_team["vision"]["cost"]) == cost_of(3)
    assert Decimal(by_team["__idle__"]["cost"]) == cost_of(6, 7)
    assert by_team["__unallocated__"]["reasons"]["team"] in {"no-owner-key", "no-rules"}
    assert by_team["__unattributed__"]["reasons"]["team"] in {"no-metrics", "no-object"}
    assert answer["currency"] == "USD"
    assert answer["provisional"] is True


def test_unpriced_is_null_with_its_quantity(client: httpx2.Client) -> None:
    params = {**WINDOW, "by": "workload", "filter": "workload:old"}
    (item,) = client.get("/api/v1/costs", params=params).json()["items"]
    assert item["cost"] is None
    assert item["unpriced"] == {"cpu": pytest.approx(2 * LENGTH)}


def test_pages_follow_each_other(client: httpx2.Client) -> None:
    whole = client.get("/api/v1/costs", params={**WINDOW, "by": "pod"}).json()
    paged = []
    for offset in range(0, whole["page"]["total"], 2):
        params = {**WINDOW, "by": "pod", "limit": 2, "offset": offset}
        page = client.get("/api/v1/costs", params=params).json()
        assert page["total"] == whole["total"]
        rest = sum(Decimal(item["cost"] or 0) for item in page["items"])
        assert rest + Decimal(page["page"]["rest"]) == Decimal(page["total"]["cost"])
        paged += page["items"]
    assert paged == whole["items"]


def test_csv_has_the_same_numbers(client: httpx2.Client) -> None:
    params = {**WINDOW, "by": "label:app", "format": "csv"}
    answer = client.get("/api/v1/costs", params=params)
    assert answer.headers["content-type"].startswith("text/csv")
    lines = answer.text.splitlines()
    assert lines[0].startswith("label:app,start,end,currency,cost,unusedCost,idle,efficiency,")
    assert any(line.startswith("train,") and str(cost_of(3).normalize()) in line for line in lines)
    assert any(line.startswith("'=batch,") for line in lines), "no formula reaches a spreadsheet"
    accepted = client.get(
        "/api/v1/costs", params={**WINDOW, "by": "label:app"}, headers={"accept": "text/csv"}
    )
    assert accepted.text == answer.text


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"window": "lastyear"}, "lastyear"),
        ({"window": "2026-11-30,2026-11-01"}, "reversed"),
        ({"window": "2027-01-01,2027-02-01"}, "future"),
        ({"by": "colour"}, "colour"),
        ({"filter": "namespace"}, "cannot be read"),
        ({"filter": "team:a|team:b"}, "not understood"),
        ({"sort": "beauty"}, "beauty"),
        ({"step": "fortnight"}, "fortnight"),
        ({"zone": "Mars/Olympus"}, "Mars/Olympus"),
    ],
)
def test_a_word_that_makes_no_sense_is_a_400(
    client: httpx2.Client, params: dict[str, str], words: str
) -> None:
    answer = client.get("/api/v1/costs", params=params)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]
    assert answer.json()["type"] == "urn:seedance:problem:usage"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nothing", 422),
        ("GET", "/nowhere", 404),
        ("PUT", "/api/v1/costs", 405),
        ("GET", "/api/v1/costs?limit=0", 422),
        ("GET", "/api/v1/costs?limitt=5", 422),
        ("GET", "/api/v1/pods?at=yesterday", 400),
        ("GET", "/api/v1/pods?at=2030-01-01T00:00:00Z", 400),
        ("GET", "/api/v1/costs?window=2025-01-01,2025-01-02", 404),
    ],
)
def test_every_error_is_a_problem_document(
    served: Served, client: httpx2.Client, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path, headers=served.headers("admin"))
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    problem = answer.json()
    assert problem["status"] == status
    assert problem["detail"]
    assert problem["title"]


def test_an_empty_window_says_where_data_is(client: httpx2.Client) -> None:
    answer = client.get("/api/v1/costs", params={"window": "2025-01-01,2025-01-02"}).json()
    assert answer["code"] == "no-data"
    assert "2026-11-28T00:00:00Z" in answer["detail"]


def test_links_lead_to_the_same_numbers(client: httpx2.Client) -> None:
    params = {**WINDOW, "by": "namespace", "filter": 'label:app!="train",web'}
    answer = client.get("/api/v1/costs", params=params).json()
    again = client.get(answer["links"]["self"]).json()
    assert again["items"] == answer["items"]
    assert answer["links"]["cli"].startswith("seedancectl cost -A --window")


def test_a_bound_token_sees_its_cluster_only(served: Served, client: httpx2.Client) -> None:
    answer = client.get(
        "/api/v1/costs", params={**WINDOW, "by": "cluster"}, headers=served.headers("bound")
    ).json()
    assert [item["keys"]["cluster"] for item in answer["items"]] == ["lab"]
    assert Decimal(answer["hidden"]["cost"] or 0) == 0
    assert Decimal(answer["total"]["cost"]) == cost_of(11, 12, 13, 14)


def test_a_bound_token_hears_of_its_cluster_only(served: Served, client: httpx2.Client) -> None:
    status = client.get("/api/v1/status", headers=served.headers("bound")).json()
    assert {each["name"] for each in status["clusters"]} == {"lab"}
    assert {each["clusterName"] for each in status["settles"]} == {"lab"}
    assert not [each for each in status["health"] if each["name"] == "sums prod"]
    for role, clusters in (("bound", {"lab"}), ("view", {"lab", "prod"})):
        text = client.get("/metrics", headers=served.headers(role)).text
        assert set(re.findall(r'cluster="([^"]*)"', text)) == clusters
        assert "seedance_ready " in text


def test_explain_knows_reasons(client: httpx2.Client) -> None:
    answer = client.get("/api/v1/explain/no-owner-key").json()
    assert answer["sentence"]
    assert client.get("/api/v1/explain/nonsense").status_code == 404


@pytest.mark.parametrize(
    ("path", "accept"), [("/api/v1/costs", "*/*"), ("/costs?window=7d&by=team", "text/html")]
)
def test_a_refused_statement_is_told_as_a_bug_with_an_id(
    served: Served, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch, path: str, accept: str
) -> None:
    engine = served.context.store.engine
    rows, sql = engine.rows, "SELECT secret FROM nowhere"
    monkeypatch.setattr(engine, "rows", lambda *_: rows(sql))
    with capture_logs() as logs:
        answer = client.get(path, headers={"accept": accept})
    assert answer.status_code == 500
    (logged,) = [entry for entry in logs if entry["event"] == "bug"]
    assert logged["statement"] == sql
    assert "nowhere" in logged["said"]
    assert logged["id"] in answer.text
    assert "report" in answer.text
    assert not re.search("secret|nowhere|SELECT|DB::", answer.text)
    if accept == "*/*":
        assert (answer.json()["code"], answer.json()["id"]) == ("bug", logged["id"])
