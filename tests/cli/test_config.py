"""`seedancectl config`: contexts in a file that holds no secret."""

import shlex
import stat
from pathlib import Path

import pytest
import yaml

from seedance.facts.costquery import CostQuery

from . import answers
from .answers import row
from .conftest import Run, Stub


def config_file(home: Path) -> Path:
    return home / "config" / "seedance" / "config.yaml"


def test_a_server_that_was_set_is_used(ctl: Run, alone: Path, stub: Stub) -> None:
    stub.give("/api/v1/costs", answers.costs(row({"namespace": "ml"}, "1")))
    assert ctl("config", "set-server", stub.url + "/").code == 0
    assert ctl("cost").code == 0
    assert yaml.safe_load(config_file(alone).read_text()) == {
        "currentContext": "default",
        "contexts": [{"name": "default", "server": stub.url}],
    }
    assert stat.S_IMODE(config_file(alone).stat().st_mode) == 0o600


def test_contexts_are_switched_and_listed(ctl: Run) -> None:
    ctl("config", "set-server", "http://127.0.0.1:9091", "--name", "lab")
    ctl("config", "set-server", "https://cost.example.org", "--name", "prod", "-n", "ml")
    assert ctl("config", "use-context", "lab").code == 0
    lines = ctl("config", "get-contexts").out.splitlines()
    assert lines[0].split() == ["CURRENT", "NAME", "SERVER", "NAMESPACE"]
    assert lines[1].split() == ["*", "lab", "http://127.0.0.1:9091"]
    assert lines[2].split() == ["prod", "https://cost.example.org", "ml"]
    assert ctl("config", "get-contexts", "-o", "name").out == "lab\nprod\n"


def test_an_unknown_context_is_code_3(ctl: Run) -> None:
    ctl("config", "set-server", "http://127.0.0.1:9091", "--name", "lab")
    ended = ctl("config", "use-context", "nowhere")
    assert ended.code == 3
    assert "known: lab" in ended.err
    assert ctl("--context", "nowhere", "cost").code == 3


def test_the_context_names_namespace_and_zone(ctl: Run, stub: Stub) -> None:
    stub.give("/api/v1/costs", answers.costs(row({"namespace": "ml"}, "1")))
    ctl("config", "set-server", stub.url, "-n", "ml", "--zone", "Asia/Shanghai")
    ctl("cost")
    ctl("cost", "-A", "--zone", "UTC")
    ctl("cost", "-n", "shop")
    asked = [dict(each.params) for each in stub.asked]
    assert [each.get("filter") for each in asked] == ["namespace:ml", None, "namespace:shop"]
    assert [each["zone"] for each in asked] == ["Asia/Shanghai", "UTC", "Asia/Shanghai"]


def test_a_command_line_that_was_copied_asks_the_same_under_any_context(
    ctl: Run, stub: Stub
) -> None:
    stub.give("/api/v1/costs", answers.costs(row({"namespace": "ml"}, "1")))
    ctl("config", "set-server", stub.url, "-n", "ml", "--zone", "Asia/Shanghai")
    for query in (CostQuery(), CostQuery(filters=("namespace:shop",))):
        ctl(*shlex.split(query.command())[1:])
        asked = [pair for pair in stub.asked[-1].params if pair[0] in {"filter", "zone"}]
        assert asked == [*(("filter", text) for text in query.filters), ("zone", "UTC")]


def test_view_shows_what_is_in_force_and_no_token(
    ctl: Run, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = alone / "token"
    token.write_text("sdt_secret\n")
    token.chmod(0o600)
    ctl("config", "set-server", "https://cost.example.org", "--token-file", str(token))
    ended = ctl("config", "view")
    shown = yaml.safe_load(ended.out)
    assert shown["contexts"][0]["tokenFile"] == str(token)
    assert shown["inForce"]["server"] == "https://cost.example.org"
    assert shown["inForce"]["token"] == "yes"
    assert "sdt_secret" not in ended.out + ended.err
    monkeypatch.setenv("SEEDANCE_SERVER", "http://127.0.0.1:1")
    assert yaml.safe_load(ctl("config", "view").out)["inForce"]["server"] == "http://127.0.0.1:1"


def test_another_server_forgets_the_token_of_the_first(ctl: Run, alone: Path) -> None:
    token = alone / "token"
    token.write_text("sdt_secret")
    token.chmod(0o600)
    ctl("config", "set-server", "https://one.example.org", "--token-file", str(token))
    ctl("config", "set-server", "https://two.example.org")
    assert "tokenFile" not in config_file(alone).read_text()


@pytest.mark.parametrize(
    "text",
    ["- a\n- b\n", "contexts: [1]\n", "contexts: {a: b}\n", "a: [\n", "contexts:\n- colour: red\n"],
)
def test_a_broken_file_is_code_2_and_names_the_file(ctl: Run, alone: Path, text: str) -> None:
    config_file(alone).parent.mkdir(parents=True)
    config_file(alone).write_text(text)
    ended = ctl("cost")
    assert ended.code == 2, ended.err
    assert str(config_file(alone)) in ended.err


def test_a_file_that_cannot_be_written_is_told(
    ctl: Run, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone / "file").write_text("")
    monkeypatch.setenv("SEEDANCE_CLIENT_CONFIG", str(alone / "file" / "config.yaml"))
    ended = ctl("config", "set-server", "http://127.0.0.1:9091")
    assert ended.code == 2
    assert "cannot write" in ended.err
