"""The program itself: `seedance demo` as a person runs it, on a small history."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

BIN = Path(sys.executable).parent
SEEDANCE, CLIENT = BIN / "seedance", BIN / "seedancectl"
PATIENCE = 240
STAYS = "Ctrl-C ends the demo"

pytestmark = pytest.mark.slow


@dataclass
class Shown:
    """A demo that runs, or ran, with what it printed in two files."""

    process: subprocess.Popen[bytes]
    home: Path

    @property
    def out(self) -> str:
        return (self.home / "out.txt").read_text()

    @property
    def err(self) -> str:
        return (self.home / "err.txt").read_text()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)

    def left(self) -> list[Path]:
        """Throw-away stores that are still there."""
        return list(self.home.glob("seedance-demo-*"))

    def table(self) -> list[str]:
        """The lines of the cost table."""
        first = next(at for at, line in enumerate(self.lines) if line.startswith("TEAM"))
        last = next(at for at, line in enumerate(self.lines) if line.startswith("TOTAL"))
        return self.lines[first : last + 1]

    def commands(self) -> list[list[str]]:
        """Every command line that is printed, as arguments."""
        found = [line.strip() for line in self.lines if line.strip().startswith("seedancectl ")]
        return [shlex.split(line)[1:] for line in found]

    def url(self) -> str:
        """Where the server listens."""
        match = re.search(r"http://127\.0\.0\.1:\d+", self.out)
        assert match
        return match[0]


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "TMPDIR": str(home), "XDG_STATE_HOME": str(home)}


def start(home: Path, *arguments: str) -> Shown:
    with (home / "out.txt").open("w") as out, (home / "err.txt").open("w") as err:
        process = subprocess.Popen(
            [SEEDANCE, "demo", "--days", "1", *arguments],
            stdout=out,
            stderr=err,
            env=environment(home),
            start_new_session=True,
        )
    return Shown(process, home)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """A demo that stays, after it has printed."""
    found = start(tmp_path_factory.mktemp("demo"), "--listen", "127.0.0.1:0")
    try:
        until = time.monotonic() + PATIENCE
        while STAYS not in found.err and found.process.poll() is None:
            assert time.monotonic() < until, found.err
            time.sleep(0.2)
        assert found.process.poll() is None, found.err
        yield found
    finally:
        found.end()


def client(shown: Shown, *arguments: str) -> str:
    ended = subprocess.run(
        [CLIENT, *arguments], capture_output=True, text=True, check=False, timeout=60,
        env=environment(shown.home),
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_table_is_the_one_that_the_client_prints(shown: Shown) -> None:
    assert client(shown, *shown.commands()[-1]).splitlines() == shown.table()


def test_the_table_is_what_the_api_says(shown: Shown) -> None:
    flags = [word for word in shown.commands()[-1][1:] if word != "-A"]
    words = dict(zip(*[iter(flags)] * 2, strict=True))
    params = {"window": words["--window"], "by": "team"}
    answer = httpx2.get(f"{shown.url()}/api/v1/costs", params=params).raise_for_status().json()
    printed = {line.split()[0]: line.split()[4] for line in shown.table()[1:]}
    for item in answer["items"]:
        cost = Decimal(item["cost"])
        assert printed[item["keys"]["team"]] == (
            f"{cost:.2f}" if cost >= Decimal("0.01") else "<0.01"
        )
    assert printed["TOTAL"] == f"{Decimal(answer['total']['cost']):.2f}"
    assert {"platform", "payments", "language", "vision", "__idle__"} <= printed.keys()


def test_three_wastes_are_told_with_money_and_proof(shown: Shown) -> None:
    wastes = [line for line in shown.lines if re.match(r"  \d\. USD [\d,.]+  \S", line)]
    costs = [Decimal(line.split()[2].replace(",", "")) for line in wastes]
    assert len(wastes) == 3
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] > 1
    for command, cost in zip(shown.commands()[:3], costs, strict=True):
        printed = client(shown, *command)
        assert printed.splitlines()[-1].startswith("TOTAL") or "(hidden)" in printed
        if "kind:idle" in command:
            assert f"{cost:.2f}" in printed


def test_pages_and_status_answer(shown: Shown) -> None:
    for path in ("/?window=7d", "/healthz", "/readyz", "/status", "/metrics"):
        assert httpx2.get(shown.url() + path, timeout=60).status_code == 200, path
    status = httpx2.get(shown.url() + "/api/v1/status").json()
    assert status["recorder"]["rejected"] == {}
    assert [each["name"] for each in status["health"] if not each["healthy"]] == []
    assert {each["name"] for each in status["clusters"]} == {"prod", "gpu-training"}


def test_what_goes_wrong_in_the_company_shows_as_flags(shown: Shown) -> None:
    command = shown.commands()[-1]
    window = command[command.index("--window") + 1]
    params = {"window": window, "by": "namespace", "limit": "100"}
    answer = httpx2.get(f"{shown.url()}/api/v1/costs", params=params).json()
    flags = {item["keys"]["namespace"]: set(item["flags"]) for item in answer["items"]}
    assert "overcommitted" in flags["payments"]
    assert "no-metrics" in flags["legacy-reports"]
    assert any(item["keys"]["namespace"] == "__system__" for item in answer["items"])


def test_samples_keep_coming(shown: Shown) -> None:
    def taken() -> int:
        return int(httpx2.get(shown.url() + "/api/v1/status").json()["recorder"]["samples"])

    before, until = taken(), time.monotonic() + PATIENCE
    while taken() == before:
        assert time.monotonic() < until
        time.sleep(1)


def test_a_port_in_use_is_said_and_ends_with_5(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = start(tmp_path, "--exit", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
        assert refused.process.wait(60) == 5
    assert "is in use" in refused.err
    assert refused.left() == []


def test_days_out_of_range_are_refused(tmp_path: Path) -> None:
    refused = start(tmp_path, "--exit", "--days", "15")
    assert refused.process.wait(60) == 2
    assert "1 to 14" in refused.err


def test_it_leaves_by_itself_if_asked_to(tmp_path: Path) -> None:
    left = start(tmp_path, "--exit", "--listen", "127.0.0.1:0")
    try:
        assert left.process.wait(PATIENCE) == 0, left.err
    finally:
        left.end()
    assert "The three biggest wastes" in left.out
    assert left.left() == []


def test_an_early_ctrl_c_ends_it_too(tmp_path: Path) -> None:
    early = start(tmp_path, "--listen", "127.0.0.1:0")
    try:
        until = time.monotonic() + PATIENCE
        while "samples taken" not in early.err and early.process.poll() is None:
            assert time.monotonic() < until, early.err
            time.sleep(0.05)
        early.process.send_signal(signal.SIGINT)
        assert early.process.wait(60) == 0, early.err
    finally:
        early.end()
    assert early.out == ""
    assert early.left() == []


def test_ctrl_c_ends_it_with_0_and_removes_everything(shown: Shown) -> None:
    shown.process.send_signal(signal.SIGINT)
    assert shown.process.wait(60) == 0, shown.err
    assert shown.left() == []
    assert "Traceback" not in shown.err
