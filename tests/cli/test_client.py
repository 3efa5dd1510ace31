"""One request: whom it reaches, what it carries, and how trouble reads."""

import socket
import threading
from pathlib import Path

import pytest

from seedance.settings.fields import local_token_file

from . import answers
from .answers import row
from .conftest import Run, Stub

PATH = "/api/v1/costs"
BODY = answers.costs(row({"namespace": "ml"}, "1"))


def secret(path: Path, text: str = "sdt_1_secret") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")
    path.chmod(0o600)
    return path


def shown(stub: Stub) -> str | None:
    return stub.asked[-1].headers.get("Authorization")


def test_nobody_listens(ctl: Run) -> None:
    ended = ctl("cost", "--server", "http://127.0.0.1:1")
    assert ended.code == 4
    assert "no answer from http://127.0.0.1:1" in ended.err
    assert "seedance serve" in ended.err


def test_no_such_host(ctl: Run) -> None:
    ended = ctl("cost", "--server", "http://nowhere.invalid")
    assert ended.code == 4
    assert "nowhere.invalid" in ended.err


def test_a_server_that_does_not_answer_in_time(ctl: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        ended = ctl("cost", "--server", f"http://127.0.0.1:{port}", "--request-timeout", "200ms")
    assert ended.code == 4
    assert "within 0.2 s" in ended.err


def test_a_server_that_hangs_up(ctl: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as rude:

        def hang_up() -> None:
            rude.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        ended = ctl("cost", "--server", f"http://127.0.0.1:{rude.getsockname()[1]}")
        thread.join()
    assert ended.code == 4


def test_something_else_answers(asking: Run, stub: Stub) -> None:
    stub.give(PATH, "<html>hello</html>", media="text/html")
    ended = asking("cost")
    assert ended.code == 4
    assert "no Seedance server" in ended.err


def test_a_path_that_is_not_there_on_another_server(asking: Run) -> None:
    assert asking("cost").code == 3


def test_redirects_are_not_followed(asking: Run, stub: Stub) -> None:
    stub.give(PATH, "", status=302)
    ended = asking("cost")
    assert ended.code == 4
    assert "http://127.0.0.1:1/elsewhere" in ended.err


def test_a_token_file_is_shown_to_the_server(asking: Run, stub: Stub, alone: Path) -> None:
    stub.give(PATH, BODY)
    asking("cost", "--token-file", str(secret(alone / "t")))
    assert shown(stub) == "Bearer sdt_1_secret"


def test_tokens_come_from_flag_then_environment_then_the_local_server(
    asking: Run, stub: Stub, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.give(PATH, BODY)
    asking("cost")
    assert shown(stub) is None
    secret(local_token_file(int(stub.url.rpartition(":")[2])), "sdt_local")
    asking("cost")
    assert shown(stub) == "Bearer sdt_local"
    monkeypatch.setenv("SEEDANCE_TOKEN", "sdt_environment")
    asking("cost")
    assert shown(stub) == "Bearer sdt_environment"
    monkeypatch.setenv("SEEDANCE_TOKEN_FILE", str(secret(alone / "e", "sdt_file")))
    asking("cost")
    assert shown(stub) == "Bearer sdt_file"
    asking("cost", "--token-file", str(secret(alone / "f", "sdt_flag")))
    assert shown(stub) == "Bearer sdt_flag"


def test_an_earlier_servers_token_is_left_out_again(asking: Run, stub: Stub) -> None:
    secret(local_token_file(int(stub.url.rpartition(":")[2])), "sdt_old")
    stub.refuse(PATH, 401, "unauthenticated", "the token is not known")
    assert asking("cost").code == 5
    assert [each.headers.get("Authorization") for each in stub.asked] == ["Bearer sdt_old", None]


def test_a_token_that_was_named_is_not_left_out(asking: Run, stub: Stub, alone: Path) -> None:
    stub.refuse(PATH, 401, "unauthenticated", "the token is not known")
    assert asking("cost", "--token-file", str(secret(alone / "t"))).code == 5
    assert len(stub.asked) == 1


def test_a_contexts_token_never_goes_to_another_server(ctl: Run, stub: Stub, alone: Path) -> None:
    stub.give(PATH, BODY)
    ctl("config", "set-server", "https://one.example.org", "--token-file", str(secret(alone / "t")))
    assert ctl("cost", "--server", stub.url).code == 0
    assert shown(stub) is None


@pytest.mark.parametrize("text", ["", "two words", "sdt_ü", "one\ntwo"])
def test_a_file_that_holds_no_token_is_refused(
    asking: Run, stub: Stub, alone: Path, text: str
) -> None:
    ended = asking("cost", "--token-file", str(secret(alone / "t", text)))
    assert ended.code == 2
    assert stub.asked == []


def test_a_token_that_others_can_read_is_pointed_out(asking: Run, stub: Stub, alone: Path) -> None:
    stub.give(PATH, BODY)
    path = secret(alone / "t")
    path.chmod(0o644)
    ended = asking("cost", "--token-file", str(path))
    assert ended.code == 0
    assert f"chmod 600 {path}" in ended.err


def test_a_token_in_the_clear_is_pointed_out(ctl: Run, alone: Path) -> None:
    ended = ctl(
        "cost", "--server", "http://nowhere.invalid", "--token-file", str(secret(alone / "t"))
    )
    assert "unencrypted" in ended.err


def test_verbose_shows_requests_and_no_token(asking: Run, stub: Stub, alone: Path) -> None:
    stub.give(PATH, BODY)
    ended = asking("-v", "cost", "--token-file", str(secret(alone / "t")))
    assert f"GET {stub.url}{PATH}?window=7d" in ended.err
    assert " 200 " in ended.err
    assert "sdt_" not in ended.err
    assert "GET" not in ended.out


def test_options_stand_before_or_after_the_verb(ctl: Run, stub: Stub) -> None:
    stub.give(PATH, BODY)
    assert ctl("--server", stub.url, "cost").code == 0
    assert ctl("cost", "-s", stub.url).code == 0
    assert ctl("--server", "http://127.0.0.1:1", "cost", "--server", stub.url).code == 0


@pytest.mark.parametrize("limit", ["0", "5", "30s", "1m", "1.5h"])
def test_time_limits_are_written_as_in_kubectl(asking: Run, stub: Stub, limit: str) -> None:
    stub.give(PATH, BODY)
    assert asking("cost", f"--request-timeout={limit}").code == 0


def test_an_authority_that_is_no_certificate_is_refused(ctl: Run, alone: Path) -> None:
    wrong = secret(alone / "ca.pem", "no certificate")
    line = ("cost", "--server", "https://127.0.0.1:1", "--certificate-authority")
    assert ctl(*line, str(wrong)).code == 2
    assert ctl(*line, str(alone / "none.pem")).code == 2


def test_version_asks_the_server(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/version", {"version": "9.9", "api": "v1"})
    ended = asking("version")
    assert ended.code == 0
    client, server = ended.out.splitlines()
    assert client.startswith("Client Version: ")
    assert server == "Server Version: 9.9"
    assert '"server"' in asking("version", "-o", "json").out


def test_version_without_a_server_still_tells_the_clients(ctl: Run) -> None:
    ended = ctl("version", "--server", "http://127.0.0.1:1")
    assert ended.code == 4
    assert ended.out.startswith("Client Version: ")
    ended = ctl("version", "--server", "http://127.0.0.1:1", "-o", "json")
    assert (ended.code, '"client"' in ended.out) == (4, True)
    assert ctl("version", "--client").code == 0
