"""Pages over a real store: what stands in the HTML, its headers and its size."""

import re
from decimal import Decimal

import httpx2
import pytest
from starlette.testclient import TestClient

from browser.sampledesk import SampleDesk
from browser.sampleworld import Entity, entities
from browser.serving import sample_app
from serving import Served

HTML = {"accept": "text/html"}
PATHS = [
    "/",
    "/costs",
    "/costs?by=team",
    "/costs?by=team&idle=share",
    "/costs?by=namespace&idle=hide",
    "/costs?by=label:app&window=12h",
    "/costs?by=",
    "/costs?by=pod&offset=5000",
    "/?zone=Asia/Shanghai&window=week",
    "/costs/computed?filter=namespace:ml",
    "/inventory",
    "/inventory?cluster=prod",
    "/inventory?cluster=prod&via=nodes",
    "/inventory?cluster=prod&namespace=ml",
    "/inventory?cluster=prod&namespace=ml&workload=train",
    "/status",
    "/login",
]


def _amount(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def text_of(html: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.mark.parametrize("path", PATHS)
def test_every_page_answers_with_a_strict_policy(client: httpx2.Client, path: str) -> None:
    response = client.get(path, headers=HTML)
    assert response.status_code == 200
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in response.text
    assert not re.search(r"<[^>]+\s(style|on\w+)=", response.text)
    assert not re.search(r'(src|href)="(https?:)?//', response.text)


def test_a_page_that_did_not_change_is_not_sent_again(client: httpx2.Client) -> None:
    first = client.get("/costs", headers=HTML)
    again = client.get("/costs", headers={**HTML, "if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""
    dark = client.get(
        "/costs",
        headers={**HTML, "if-none-match": first.headers["etag"], "cookie": "theme=dark"},
    )
    assert dark.status_code == 200


def test_page_and_api_show_the_same_figures(client: httpx2.Client) -> None:
    answer = client.get("/api/v1/costs?window=7d&by=team").json()
    page = text_of(client.get("/costs?window=7d&by=team", headers=HTML).text)
    for item in answer["items"]:
        assert f"{Decimal(item['cost']):,.2f}" in page
    assert f"{Decimal(answer['total']['cost']):,.2f}" in page


@pytest.mark.parametrize("by", ["cluster,namespace", "team", "node", "label:app", "resource"])
def test_every_row_leads_to_its_own_arithmetic_and_its_own_rows(
    client: httpx2.Client, by: str
) -> None:
    html = client.get(f"/costs?window=7d&by={by}", headers=HTML).text
    rows = re.findall(
        r'<span class="named">.*?(?:<a href="([^"]+)">)?[^<]*(?:</a>|</span>)</span></th>'
        r'<td><a href="([^"]+)" title="[^"]*">([\d.,]+)</a>',
        html,
    )
    assert len(rows) >= 3
    for down, arithmetic, cost in rows:
        page = text_of(client.get(arithmetic.replace("&amp;", "&"), headers=HTML).text)
        figure = re.search(r"([\d.,]+) USD ", page)
        assert figure, arithmetic
        assert round(_amount(figure[1]), 2) == _amount(cost), arithmetic
        if down:
            below = text_of(client.get(down.replace("&amp;", "&"), headers=HTML).text)
            figures = {round(_amount(text), 2) for text in re.findall(r" ([\d,]+\.\d+) ", below)}
            assert _amount(cost) in figures, down


def test_every_flag_and_reason_of_a_page_has_its_sentence_in_the_text(
    client: httpx2.Client,
) -> None:
    html = client.get("/costs?window=7d&by=pod", headers=HTML).text
    chips = set(re.findall(r'class="(?:flag|dash)" href="#([a-z-]+)"', html))
    assert {"flag-no-metrics", "flag-end-estimated", "missing-usage"} <= chips
    for chip in chips:
        assert f'<div id="{chip}">' in html


def test_a_row_without_a_price_is_a_dash_with_its_reason(client: httpx2.Client) -> None:
    html = client.get("/costs?window=7d&by=cluster,namespace", headers=HTML).text
    row = next(part for part in html.split("<tr")[1:] if "lab / gone" in part)
    assert 'class="dash" href="#reason-no-object">not known' in row
    legend = html[html.index('id="reason-no-object"') :]
    assert "The samples name a pod that was not alive" in legend[:300]


def test_an_empty_window_is_a_calm_page(client: httpx2.Client) -> None:
    response = client.get("/costs?window=2026-01-01,2026-01-02", headers=HTML)
    assert response.status_code == 200
    assert "there is data from 2026-11-28" in text_of(response.text)


@pytest.mark.parametrize(
    "path", ["/costs?filter=nope:1", "/costs?window=sometimes", "/costs?by=colour", "/?zone=Mars/X"]
)
def test_nonsense_is_a_400_page_that_says_what_would_work(client: httpx2.Client, path: str) -> None:
    response = client.get(path, headers=HTML)
    assert response.status_code == 400
    assert "What still works" in response.text


def test_what_is_not_there_is_a_404_page(client: httpx2.Client) -> None:
    response = client.get("/nowhere", headers=HTML)
    assert response.status_code == 404
    assert response.headers["content-type"].startswith("text/html")
    assert client.get("/nowhere").headers["content-type"] == "application/problem+json"


def test_a_reader_bound_to_a_cluster_sees_no_other(served: Served) -> None:
    with httpx2.Client(base_url=served.url, trust_env=False) as client:
        client.headers.update({**HTML, **served.headers("bound")})
        page = client.get("/costs?window=7d&by=cluster,namespace").text
        assert "lab / ml" in page
        assert "prod / ml" not in page
        assert client.get("/inventory?cluster=prod").status_code == 404


def test_static_files_are_dated_compressed_and_closed(client: httpx2.Client) -> None:
    html = client.get("/", headers=HTML).text
    url = re.search(r'href="(/static/app.css\?v=\w+)"', html)
    assert url
    response = client.get(url[1], headers={"accept-encoding": "gzip"})
    assert "immutable" in response.headers["cache-control"]
    assert response.headers["content-encoding"] == "gzip"
    assert "default-src" not in response.text
    old = client.get("/static/app.css?v=0000000000")
    assert old.headers["cache-control"] == "no-cache"
    for name in ("../pages/routes.py", "%2e%2e/app.py", "nothing.css"):
        assert client.get(f"/static/{name}").status_code in {400, 404}


def test_looks_are_remembered_and_nothing_else_is(client: httpx2.Client) -> None:
    response = client.get("/look?theme=dark&next=//evil.example", headers=HTML)
    assert response.status_code == 303
    assert response.headers["location"] == "/"
    assert "theme=dark" in response.headers["set-cookie"]
    assert "set-cookie" not in client.get("/look?theme=pink", headers=HTML).headers


def test_signing_in_needs_a_known_token(served: Served) -> None:
    with httpx2.Client(base_url=served.url, trust_env=False) as client:
        wrong = client.post("/login", data={"token": "sdt_no", "next": "/"}, headers=HTML)
        assert wrong.status_code == 401
        right = client.post("/login", data={"token": served.tokens["view"], "next": "/costs"})
        assert right.status_code == 303
        assert right.headers["location"] == "/costs"
        assert "HttpOnly" in right.headers["set-cookie"]
        foreign = client.post(
            "/login",
            data={"token": served.tokens["view"]},
            headers={"origin": "http://evil.example"},
        )
        assert foreign.status_code == 403


def _many(count: int) -> list[Entity]:
    world = [one for one in entities() if one.keys["kind"] == "container"]
    name = "recommendation-engine-batch-rescoring-{:04d}-7f9c8d6b5f-x{:04d}"
    return [
        Entity(
            {**one.keys, "pod": name.format(n, n)},
            {"cpu": 1.0 + n, "memory": 2.0, "nvidia.com/gpu": 0.1},
            {"cpu": 0.5, "memory": 1.0, "nvidia.com/gpu": None},
            flags=("no-metrics", "end-estimated"),
        )
        for n in range(count)
        for one in [world[n % len(world)]]
    ]


def test_a_page_of_a_thousand_rows_stays_under_100_kb() -> None:
    app = sample_app(SampleDesk(_many(1000)))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        response = client.get("/costs?by=pod&window=month", headers=HTML)
        assert response.text.count('<tr><th scope="row">') >= 100
        assert len(response.content) <= 100_000
        assert "1 to 100 of 1,000" in text_of(response.text)
        after = re.search(r'rel="next" href="([^"]+)"', response.text)
        assert after
        second = client.get(after[1].replace("&amp;", "&"), headers=HTML)
        assert "101 to 200 of 1,000" in text_of(second.text)
