import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from remote_write_messages import body, named
from seedance.facts.errors import BugError
from seedance.facts.samples import Series, SeriesId
from seedance.serve import ending
from seedance.serve.parts import Checked, open_rooms, open_store
from seedance.settings.load import load
from seedance.store import admin
from seedance.store.samples import all_series, last_timestamps, put_series
from seedance.store.store import Store

PROGRAM = [sys.executable, "-c", "from seedance.serve import main; main()"]


def environment(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SEEDANCE")}
    return {**kept, "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}


def seedance(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], env={**environment(folder), **more}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


class Server:
    """A server program of the test's own, on a free port."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self.data = folder, folder / "data"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        command = [
            *PROGRAM,
            "serve",
            "--data",
            str(self.data),
            "--listen",
            f"127.0.0.1:{self.port}",
        ]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*command, *arguments], env=environment(folder), stdout=log, stderr=log
            )
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            try:
                httpx2.get(f"{self.url}/healthz", trust_env=False)
            except httpx2.HTTPError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError(self.log.read_text())

    def get(self, path: str, **options: Any) -> httpx2.Response:
        return httpx2.get(f"{self.url}{path}", trust_env=False, timeout=30, **options)

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("serve"))
    yield running
    running.stop(signal.SIGKILL)


def test_a_new_server_is_ready_and_has_no_data(server: Server) -> None:
    assert server.get("/readyz").json()["ready"] is True
    answer = server.get("/api/v1/costs")
    assert answer.status_code == 404
    assert "nothing is settled yet" in answer.json()["detail"]
    assert server.get("/api/v1/status").json()["started"]


def test_it_leaves_its_admin_token_for_its_user_alone(server: Server) -> None:
    left = server.folder / "state" / "seedance" / f"admin-{server.port}.token"
    for file in (left, server.data / "admin.token"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        headers = {"authorization": f"Bearer {file.read_text().strip()}"}
        assert server.get("/api/v1/version", headers=headers).status_code == 200


def test_nobody_else_can_look_into_the_data_folder(server: Server, tmp_path: Path) -> None:
    ended = seedance(tmp_path, "token", "create", "--role", "view", "--data", str(tmp_path / "d"))
    assert ended.returncode == 0
    for folder in (server.data, tmp_path / "d"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_port_in_use_is_named(server: Server) -> None:
    other = str(server.folder / "other")
    ended = seedance(
        server.folder, "serve", "--data", other, "--listen", f"127.0.0.1:{server.port}"
    )
    assert ended.returncode == 5
    assert f"port {server.port} is in use" in ended.stderr


@pytest.mark.parametrize(
    "command", [("serve", "--listen", "127.0.0.1:0"), ("store", "check")], ids=["serve", "check"]
)
def test_a_locked_store_names_its_owner(server: Server, command: tuple[str, ...]) -> None:
    ended = seedance(server.folder, *command, "--data", str(server.data))
    assert ended.returncode == 5
    assert f"process {server.process.pid}" in ended.stderr


def test_tokens_work_beside_the_running_server(server: Server) -> None:
    data = ("--data", str(server.data))
    made = seedance(server.folder, "token", "create", "--role", "view", "--name", "grafana", *data)
    assert made.returncode == 0
    token = made.stdout.strip()
    headers = {"authorization": f"Bearer {token}"}
    assert server.get("/api/v1/version", headers=headers).status_code == 200
    listed = seedance(server.folder, "token", "list", *data).stdout
    assert "grafana" in listed
    assert token not in listed
    assert seedance(server.folder, "token", "revoke", "grafana", *data).returncode == 0
    assert server.get("/api/v1/version", headers=headers).status_code == 401
    assert seedance(server.folder, "token", "revoke", "grafana", *data).returncode == 3
    assert seedance(server.folder, "token", "create", "--role", "boss", *data).returncode == 2


def test_a_backup_goes_through_the_running_server_and_comes_back(server: Server) -> None:
    target, restored = server.folder / "backup", server.folder / "restored"
    made = seedance(server.folder, "store", "backup", str(target), "--data", str(server.data))
    assert (made.returncode, made.stdout.strip()) == (0, str(target)), made.stderr
    again = seedance(server.folder, "store", "backup", str(target), "--data", str(server.data))
    assert again.returncode == 5
    back = seedance(server.folder, "store", "restore", str(target), "--data", str(restored))
    assert back.returncode == 0, back.stderr
    checked = seedance(server.folder, "store", "check", "--data", str(restored))
    assert checked.returncode == 0, checked.stderr


def test_what_was_acknowledged_a_moment_ago_is_in_the_backup(tmp_path: Path) -> None:
    running = Server(tmp_path, "--set", "intake.flush=3600")
    try:
        now = int(time.time() * 1000)
        sent = httpx2.post(
            f"{running.url}/api/v1/write",
            content=body(named("m", [(now, 1.0)])),
            headers={"content-type": "application/x-protobuf", "content-encoding": "snappy"},
            trust_env=False,
        )
        assert sent.status_code < 300, sent.text
        data = ("--data", str(running.data))
        made = seedance(tmp_path, "store", "backup", str(tmp_path / "copy"), *data)
        assert made.returncode == 0, made.stderr
    finally:
        running.stop(signal.SIGKILL)
    admin.restore(tmp_path / "copy", tmp_path / "restored")
    with Store.open(tmp_path / "restored") as store:
        assert last_timestamps(store)[1].tolist() == [now]


def test_the_start_forgets_series_whose_samples_are_gone(tmp_path: Path) -> None:
    settings = load({"store.data": str(tmp_path), "web.listen": "127.0.0.1:0"}, file=None).settings
    checked = Checked.of(settings)
    with open_store(settings, checked.data) as store:
        long_ago = datetime.now(UTC) - timedelta(days=20)
        old = [Series(SeriesId(number), "m", (), "", "remote-write") for number in (1, 2)]
        put_series(store, old, now=long_ago)
        recorder = open_rooms(checked, store).recorder
        assert [each.id for each in all_series(store)] == [2], "the next number follows the last"
        recorder.start()
        assert recorder.stats().series == 2
        recorder.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: int) -> None:
    running = Server(tmp_path)
    assert running.stop(number) == 0
    assert "stopped" in running.log.read_text()
    assert "Traceback" not in running.log.read_text()
    assert not (tmp_path / "state" / "seedance" / f"admin-{running.port}.token").exists()
    assert seedance(tmp_path, "store", "check", "--data", str(running.data)).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("serve", "--listen", "nonsense"), 2, "no address"),
        (("serve", "--listen", "127.0.0.1:99999"), 2, "no address"),
        (("serve", "--cluster", "prod"), 2, "NAME=KUBECONFIG"),
        (("serve", "--kubeconfig", "/nowhere/config"), 2, "/nowhere/config"),
        (("serve", "--manifests", "/nowhere/prices.yaml"), 2, "/nowhere/prices.yaml"),
        (("serve", "--config", "/nowhere.yaml"), 2, "/nowhere.yaml"),
        (("serve", "--tls-cert", "/nowhere.pem"), 2, "certificate and its key"),
        (("serve", "--listen", "0.0.0.0:0"), 5, "refusing to listen"),
        (("serve", "--set", "web.colour=red"), 2, "web.colour"),
        (("serve", "--set", "store.threads=many"), 2, "store.threads"),
        (("serve", "--set", "store.server=http://u:p@h"), 2, "secret"),
        (("serve", "--log", "loud"), 2, "loud"),
        (("serve", "--nonsense"), 2, "--nonsense"),
        (("nonsense",), 2, "nonsense"),
        (("store", "backup", "/tmp/x", "--config", "/nowhere.yaml"), 2, "/nowhere.yaml"),
        (("store", "restore", "/nowhere"), 2, "/nowhere"),
    ],
)
def test_a_mistake_ends_with_its_code_and_no_traceback(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    data = () if arguments[0] == "nonsense" else ("--data", str(tmp_path / "data"))
    ended = seedance(tmp_path, *arguments, *data)
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False), ended.stderr
    assert said in ended.stderr


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = seedance(
        tmp_path, "serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "file" / "data")
    )
    assert ended.returncode == 5
    assert "cannot write" in ended.stderr


def test_settings_show_value_and_origin(tmp_path: Path) -> None:
    file = tmp_path / "seedance.yaml"
    file.write_text("web: {zone: Europe/Berlin}\nstore: {server: 'http://u:geheim@h:1/d'}\n")
    ended = seedance(
        tmp_path, "settings", "--config", str(file), "--set", "settle.every=30", "-o", "json",
        SEEDANCE_LOG_LEVEL="debug",
    )  # fmt: skip
    rows = {row["name"]: (row["value"], row["origin"]) for row in json.loads(ended.stdout)}
    assert rows["web.zone"] == ("Europe/Berlin", f"file {file}")
    assert rows["settle.every"] == ("30", "flag --set")
    assert rows["log.level"] == ("debug", "variable SEEDANCE_LOG_LEVEL")
    assert rows["store.threads"] == ("2", "default")
    assert rows["store.server"][0] == "***"
    assert "geheim" not in ended.stdout + ended.stderr
    table = seedance(tmp_path, "settings", "--config", str(file)).stdout
    assert table.startswith("NAME ")


def test_a_missing_part_is_told_with_the_exact_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "seedance.serve.program", None)
    error = ModuleNotFoundError("No module named 'chdb'", name="chdb")
    assert ending._missing(error) == 2
    assert "pip install 'seedance[server]'" in capsys.readouterr().err


def test_a_bug_is_70_and_shows_a_traceback_only_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: list[str]) -> int:
        raise KeyError("x")

    monkeypatch.setattr("seedance.serve.program.command", broken)
    assert ending.run([]) == 70
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv("SEEDANCE_DEBUG", "1")
    assert ending.run([]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_refused_statement_is_70_and_shown_only_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: list[str]) -> int:
        raise BugError("the store refused a statement", said="Code: 62", statement="SELECT secret")

    monkeypatch.setattr("seedance.serve.program.command", broken)
    assert ending.run([]) == 70
    told = capsys.readouterr().err
    assert "a bug, not your mistake: the store refused a statement" in told
    assert "SEEDANCE_DEBUG=1" in told
    assert "secret" not in told
    monkeypatch.setenv("SEEDANCE_DEBUG", "1")
    assert ending.run([]) == 70
    assert "Code: 62\nSELECT secret" in capsys.readouterr().err
