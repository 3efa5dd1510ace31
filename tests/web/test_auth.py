import os
import stat
import time
from pathlib import Path

import httpx2
import pytest

from seedance.facts.errors import NotFoundError, RefusedError, UsageError
from seedance.web.auth import (
    COOKIE,
    CSRF_HEADER,
    Access,
    check_exposure,
    is_loopback,
    needed_role,
)
from seedance.web.tokens import TokenBook, digest, write_secret
from serving import Served

EVERYWHERE = "0.0.0.0"  # noqa: S104 - named, not bound
COSTS = "/api/v1/costs?window=yesterday"
BACKUP = "/api/v1/admin/backup"


def test_without_a_token_loopback_may_view_and_not_administer(client: httpx2.Client) -> None:
    assert client.get(COSTS).status_code == 200
    answer = client.post(BACKUP, json={"target": "/tmp/x"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "seedance token create" in answer.json()["hint"]


@pytest.mark.parametrize(
    ("role", "view", "admin"),
    [("ingest", 403, 403), ("view", 200, 403), ("edit", 200, 403), ("admin", 200, 403)],
)
def test_roles(served: Served, client: httpx2.Client, role: str, view: int, admin: int) -> None:
    assert client.get(COSTS, headers=served.headers(role)).status_code == view
    answer = client.post(BACKUP, json={"target": "/tmp/x"}, headers=served.headers(role))
    assert answer.status_code == admin
    expected = "offers no backup" if role == "admin" else "needs the role admin"
    assert expected in answer.json()["detail"]


@pytest.mark.parametrize("header", ["Bearer nonsense", "Bearer", "Basic eDp5", "Basic !", "Digest"])
def test_an_unknown_token_is_a_401_even_on_loopback(client: httpx2.Client, header: str) -> None:
    assert client.get(COSTS, headers={"authorization": header}).status_code == 401


def test_basic_with_the_token_as_password(served: Served, client: httpx2.Client) -> None:
    auth = httpx2.BasicAuth("anybody", served.tokens["view"])
    assert client.get(COSTS, auth=auth).status_code == 200


def test_a_revoked_token_is_refused_at_once(served: Served, client: httpx2.Client) -> None:
    book = served.context.access.book
    assert book is not None
    token, text = TokenBook(book.path).create("view", name="short lived")
    headers = {"authorization": f"Bearer {text}"}
    assert client.get(COSTS, headers=headers).status_code == 200
    TokenBook(book.path).revoke(token.id)
    assert client.get(COSTS, headers=headers).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9091", "localhost.evil.example"])
def test_a_foreign_host_is_refused(served: Served, client: httpx2.Client, host: str) -> None:
    answer = client.get(COSTS, headers={"host": host})
    assert answer.status_code == 403
    assert "not known as" in answer.json()["detail"]
    assert client.get("/healthz", headers={"host": host}).status_code == 403
    token = client.get(COSTS, headers={"host": host, **served.headers("view")})
    assert token.status_code == 200, "who shows a token was not led here by a name"


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:9091", "10.1.2.3:9091"])
def test_names_of_this_machine_are_fine(client: httpx2.Client, host: str) -> None:
    assert client.get(COSTS, headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/write", BACKUP, "/login"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_origin_may_not_post(
    client: httpx2.Client, path: str, headers: dict[str, str]
) -> None:
    answer = client.post(path, headers=headers, content=b"x")
    assert answer.status_code == 403
    assert "may not write here" in answer.json()["detail"]


def test_a_page_of_this_origin_may_post(served: Served, client: httpx2.Client) -> None:
    headers = {"origin": served.url, **served.headers("admin")}
    assert "offers no backup" in client.post(BACKUP, json={"target": "x"}, headers=headers).text


def test_a_cookie_needs_the_csrf_token_to_write(served: Served, client: httpx2.Client) -> None:
    access = served.context.access
    key, session = access.login(served.tokens["admin"])
    cookie = {"cookie": f"{COOKIE}={key}"}
    assert client.get(COSTS, headers=cookie).status_code == 200
    answer = client.post(BACKUP, json={"target": "x"}, headers=cookie)
    assert answer.status_code == 403
    assert "CSRF" in answer.json()["detail"]
    shown = client.post(BACKUP, json={"target": "x"}, headers={**cookie, CSRF_HEADER: session.csrf})
    assert "offers no backup" in shown.text
    access.logout(key)
    assert client.post(BACKUP, json={"target": "x"}, headers=cookie).status_code == 401


def test_a_session_cookie_is_strict_and_hidden_from_scripts() -> None:
    line = Access(tls=True).cookie("abc")
    assert {"HttpOnly", "SameSite=Strict", "Secure", "Path=/"} <= set(line.split("; "))


def test_a_session_ends(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    access = served.context.access
    key, session = access.login(served.tokens["view"])
    assert access.session(key) is session
    session.expires = time.monotonic() - 1
    assert access.session(key) is None


def test_what_nobody_ruled_is_closed() -> None:
    assert needed_role("POST", "/api/v1/anything") == "admin"
    assert needed_role("DELETE", "/api/v1/costs") == "admin"
    assert needed_role("GET", "/api/v1/anything") == "view"
    assert needed_role("POST", "/api/v1/write") == "ingest"
    assert needed_role("GET", "/healthz") is None


def test_off_loopback_everybody_needs_a_token(served: Served, client: httpx2.Client) -> None:
    access = served.context.access
    access.loopback = False
    try:
        assert client.get(COSTS).status_code == 401
        assert client.get("/healthz").status_code == 200
        assert client.get(COSTS, headers=served.headers("view")).status_code == 200
        page = client.get("/costs?window=7d", headers={"accept": "text/html"})
        assert page.status_code == 303
        assert page.headers["location"] == "/login?next=/costs%3Fwindow%3D7d"
    finally:
        access.loopback = True


def test_exposure_needs_tokens_and_tls(tmp_path: Path) -> None:
    book = TokenBook(tmp_path / "tokens.json")
    check_exposure("127.0.0.1", tokens=book, tls=False, insecure=False)
    check_exposure(EVERYWHERE, tokens=book, tls=False, insecure=True)
    with pytest.raises(RefusedError, match=r"without a token.* and TLS"):
        check_exposure(EVERYWHERE, tokens=book, tls=False, insecure=False)
    book.create("admin", name="local admin")
    with pytest.raises(RefusedError, match="without a token"):
        check_exposure(EVERYWHERE, tokens=book, tls=True, insecure=False)
    book.create("view")
    check_exposure(EVERYWHERE, tokens=book, tls=True, insecure=False)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), (EVERYWHERE, False), ("x.y", False)],
)
def test_loopback(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_tokens_are_kept_as_hashes_and_in_secret(tmp_path: Path) -> None:
    book = TokenBook(tmp_path / "tokens.json")
    token, text = book.create("view", name="grafana", cluster="lab")
    kept = book.path.read_text()
    assert text not in kept
    assert text[-43:] not in kept  # the secret part, which may hold any sign of base64url
    assert token.sha256 == digest(text)
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600
    found = book.find(text)
    assert found is not None
    assert found.caller().cluster == "lab"
    assert book.find(text + "x") is None


def test_a_name_is_given_once(tmp_path: Path) -> None:
    book = TokenBook(tmp_path / "tokens.json")
    book.create("view", name="a")
    with pytest.raises(UsageError, match="exists"):
        book.create("view", name="a")
    with pytest.raises(UsageError, match="cannot be"):
        book.create("view", name="\n")
    with pytest.raises(UsageError, match="boss"):
        book.create("boss")
    book.revoke("a")
    with pytest.raises(NotFoundError):
        book.revoke("a")


def test_a_broken_token_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text("{")
    with pytest.raises(RefusedError, match=r"tokens\.json"):
        TokenBook(path).all()


def test_a_secret_file_is_never_readable_by_others(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        write_secret(tmp_path / "deep" / "secret", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "deep" / "secret").stat().st_mode) == 0o600
