"""The connection to an API server: credentials, errors, streams, against real HTTP."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import certifi
import pytest
import yaml

from fake_api import NAMESPACES, PODS, FakeApi
from seedance.facts.errors import (
    BusyError,
    NotFoundError,
    RefusedError,
    UnauthenticatedError,
    UnreachableError,
    UsageError,
)
from seedance.intake.access import Source, check_source, open_access
from seedance.intake.kubernetes import Connection, GoneError

WHO = f"{NAMESPACES}/kube-system"


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with FakeApi() as running:
        yield running


@pytest.fixture
async def connection(api: FakeApi, tmp_path: Path) -> AsyncIterator[Connection]:
    opened = Connection(Source(api.kubeconfig(tmp_path)))
    yield opened
    await opened.close()


async def test_an_object_is_read(api: FakeApi, connection: Connection) -> None:
    found = await connection.get_json(WHO, doing="get namespace kube-system")
    assert found["metadata"]["uid"] == api.cluster
    assert connection.server == api.url


async def test_a_token_that_was_renewed_in_the_file_is_read_again(
    api: FakeApi, tmp_path: Path
) -> None:
    path = api.kubeconfig(tmp_path)
    connection = Connection(Source(path))
    await connection.get_json(WHO)
    api.tokens = {"renewed"}
    content = yaml.safe_load(path.read_text())
    content["users"][0]["user"]["token"] = "renewed"
    path.write_text(yaml.safe_dump(content))
    answers = await asyncio.gather(*(connection.get_json(WHO) for _ in range(5)))
    assert len(answers) == 5
    await connection.close()


async def test_a_token_file_that_rotates_is_read_again(api: FakeApi, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("good\n")
    connection = Connection(Source(api.kubeconfig(tmp_path, user={"tokenFile": "token"})))
    await connection.get_json(WHO)
    api.tokens = {"next"}
    token.write_text("next\n")
    await connection.get_json(WHO)
    await connection.close()


async def test_credentials_that_stay_refused_are_an_error(
    api: FakeApi, connection: Connection
) -> None:
    api.tokens = set()
    with pytest.raises(UnauthenticatedError, match="answers 401 to list pods: Unauthorized"):
        await connection.get_json(PODS, doing="list pods")
    assert len(api.requests) == 2


async def test_a_refusal_names_kind_and_verb_and_the_way_out(
    api: FakeApi, connection: Connection
) -> None:
    api.forbidden = {PODS}
    with pytest.raises(RefusedError, match="403 to list pods: pods is forbidden") as refused:
        await connection.get_json(PODS, doing="list pods")
    assert "rbac.yaml" in refused.value.hint


async def test_every_answer_has_its_error(api: FakeApi, connection: Connection) -> None:
    api.missing = {"/apis/batch/v1/cronjobs"}
    with pytest.raises(NotFoundError):
        await connection.get_json("/apis/batch/v1/cronjobs")
    api.busy = 1
    with pytest.raises(BusyError) as busy:
        await connection.get_json(PODS)
    assert busy.value.retry_after == 1
    api.broken = 1
    with pytest.raises(UnreachableError, match="answers 500 to GET /api/v1/pods: etcdserver"):
        await connection.get_json(PODS)
    api.forget()
    with pytest.raises(GoneError):
        await connection.get_json(PODS, {"watch": "1", "resourceVersion": "1"})


async def test_no_server_is_unreachable(tmp_path: Path) -> None:
    api = FakeApi()
    await api.start()
    path = api.kubeconfig(tmp_path)
    await api.stop()
    with pytest.raises(UnreachableError, match="does not answer to get nodes"):
        await Connection(Source(path)).get_json(PODS, doing="get nodes")


async def test_a_stream_tells_that_it_is_open_then_its_lines(
    api: FakeApi, connection: Connection
) -> None:
    params = {"watch": "1", "resourceVersion": str(api.version), "timeoutSeconds": "5"}
    lines = connection.stream_lines(PODS, params, read_timeout=5.0)
    async with aclosing(lines) as batches:
        assert await anext(batches) == []
        await api.put(PODS, api.document("a", "shop"))
        event = json.loads((await anext(batches))[0])
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_a_silent_stream_is_given_up(api: FakeApi, connection: Connection) -> None:
    api.silent = True
    params = {"watch": "1", "resourceVersion": str(api.version), "timeoutSeconds": "60"}
    began = time.monotonic()
    with pytest.raises(UnreachableError):
        async for _ in connection.stream_lines(PODS, params, read_timeout=0.3):
            pass
    assert time.monotonic() - began < 3


def plugin(folder: Path, **status: Any) -> dict[str, Any]:
    """An exec plugin that counts its runs and prints a credential."""
    printed = json.dumps({"kind": "ExecCredential", "status": status})
    script = folder / "plugin.py"
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, os, pathlib\n"
        "told = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert told['spec']['interactive'] is False and os.environ['WHERE'] == 'here'\n"
        "runs = pathlib.Path(__file__).with_name('runs')\n"
        "runs.write_text((runs.read_text() if runs.exists() else '') + 'x')\n"
        f"print({printed!r})\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./plugin.py",
            "env": [{"name": "WHERE", "value": "here"}],
            "interactiveMode": "Never",
        }
    }


async def test_an_exec_plugin_runs_once_until_its_token_ends(api: FakeApi, tmp_path: Path) -> None:
    user = plugin(tmp_path, token="good", expirationTimestamp="2100-01-01T00:00:00Z")
    connection = Connection(Source(api.kubeconfig(tmp_path, user=user)))
    for _ in range(3):
        await connection.get_json(WHO)
    assert (tmp_path / "runs").read_text() == "x"
    api.tokens = {"other"}
    with pytest.raises(UnauthenticatedError):
        await connection.get_json(WHO)
    assert (tmp_path / "runs").read_text() == "xx"
    await connection.close()


async def test_an_exec_plugin_runs_again_when_its_token_ended(api: FakeApi, tmp_path: Path) -> None:
    user = plugin(tmp_path, token="good", expirationTimestamp="2020-01-01T00:00:00Z")
    connection = Connection(Source(api.kubeconfig(tmp_path, user=user)))
    for _ in range(2):
        await connection.get_json(WHO)
    assert (tmp_path / "runs").read_text() == "xx"
    await connection.close()


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"exec": {"apiVersion": "v9", "command": "x"}}, "speaks 'v9'"),
        (
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-thing"}},
            "cannot run the exec plugin 'no-such-thing'",
        ),
        ({"tokenFile": "nowhere"}, "No such file"),
        ({"auth-provider": {"name": "gcp"}}, "auth-provider is no longer part"),
        ({"client-certificate": "nowhere.crt", "client-key": "nowhere.key"}, "No such file"),
    ],
)
async def test_unusable_credentials_are_named(
    api: FakeApi, tmp_path: Path, user: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await Connection(Source(api.kubeconfig(tmp_path, user=user))).get_json(WHO)


async def test_a_plugin_that_fails_is_quoted(api: FakeApi, tmp_path: Path) -> None:
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "command": "sh",
            "args": ["-c", "echo please log in >&2; exit 3"],
        }
    }
    with pytest.raises(UnreachableError, match="left with 3: please log in"):
        await Connection(Source(api.kubeconfig(tmp_path, user=user))).get_json(WHO)


@pytest.mark.parametrize(
    ("text", "context", "words"),
    [
        (None, "", "No such file"),
        ("just: text", "", "it is no kubeconfig"),
        ("[", "", "while parsing"),
        ("", "", "it is no kubeconfig"),
        ("clusters: []\ncontexts: []\n", "", "No current context"),
        ("clusters: []\ncontexts: []\ncurrent-context: a\n", "other", "'other' not found"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named(
    tmp_path: Path, text: str | None, context: str, words: str
) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=words) as refused:
        check_source(Source(path, context))
    assert str(path) in str(refused.value)


def test_without_a_kubeconfig_outside_a_pod_the_way_out_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the service account of this pod") as refused:
        check_source(Source(service_account=tmp_path))
    assert "--kubeconfig" in refused.value.hint


async def test_in_a_pod_the_service_account_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "token").write_text("secret-token")
    (tmp_path / "namespace").write_text("seedance")
    (tmp_path / "ca.crt").symlink_to(certifi.where())
    access = await open_access(Source(service_account=tmp_path))
    assert access.server == "https://[fd00::1]:443"
    assert access.headers == {"Authorization": "Bearer secret-token"}
    assert access.expires is not None
    assert "secret-token" not in repr(access)


async def test_proxies_of_the_environment_are_not_asked_for_loopback(
    api: FakeApi, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert await connection.get_json(WHO)
