"""A real Prometheus writes to the receiver: what it keeps itself, we keep, bit for bit.

It scrapes a page of odd values every second while the receiver is busy for a while and then
is started anew; a series goes away and gets its stale marker.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
import uvicorn
import yaml
from fastapi import FastAPI, Response
from realparts.network import Network
from realparts.parts import PROMETHEUS
from realparts.processes import Program

from seedance.facts.limits import Limits
from seedance.flows.recording.record import Recorder
from seedance.intake import remotewrite
from seedance.store.samples import all_series
from seedance.store.store import Store
from seedance.store.wal import Wal
from seedance.web.receive import PATH, write_router

pytestmark = [pytest.mark.rig, pytest.mark.slow]

STALE = 0x7FF0000000000002
ODD = 'odd_zero 0\nodd_inf +Inf\nodd_nan NaN\nodd_neg -1.5\nlab{a="x\\ny",b="",c="ü"} 3\n'


class Target:
    """The page that Prometheus scrapes."""

    def __init__(self) -> None:
        self.count = 0
        self.going = True

    def text(self) -> str:
        self.count += 1
        going = 'going{pod="p"} 7\n' if self.going else ""
        return f"{ODD}{going}# TYPE scrapes counter\nscrapes {self.count}\n"


class Receiver:
    """A server over a recorder that can be exchanged, and the page beside it."""

    def __init__(self, store: Store, folder: Path, port: int) -> None:
        self.store = store
        self.folder = folder
        self.target = Target()
        self.statuses: list[int] = []
        self.recorder = self._recorder()
        self.busy = False
        self._inner = self._app()
        config = uvicorn.Config(
            self._outer, host="127.0.0.1", port=port, log_level="warning", interface="asgi3"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)

    def start(self) -> None:
        self._thread.start()
        until(lambda: self._server.started)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self.recorder.stop()

    def restart_recorder(self) -> None:
        """What a restart of the server does to samples: flush what can be, begin from the store."""
        self.recorder.stop()
        self.recorder = self._recorder()
        self._inner = self._app()

    def _recorder(self) -> Recorder:
        recorder = Recorder(
            self.store,
            Wal.open(self.folder),
            decoders={"remote-write": remotewrite.decoder(Limits())},
            clock=lambda: datetime.now(UTC),
        )
        recorder.start()
        return recorder

    def _app(self) -> FastAPI:
        app = FastAPI()
        app.include_router(write_router(self.recorder, lambda _: ""))
        app.add_api_route("/metrics", lambda: Response(self.target.text(), media_type="text/plain"))
        return app

    async def _outer(self, scope: dict, receive: Callable, send: Callable) -> None:  # type: ignore[type-arg]
        writes = scope["type"] == "http" and scope["path"] == PATH
        if writes and self.busy:
            await Response(status_code=503, headers={"Retry-After": "1"})(scope, receive, send)
            return

        async def noting(event: dict) -> None:  # type: ignore[type-arg]
            if writes and event["type"] == "http.response.start":
                self.statuses.append(event["status"])
            await send(event)

        await self._inner(scope, receive, noting)


def until(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)


@pytest.fixture
def receiver(store: Store, tmp_path: Path, network: Network) -> Iterator[Receiver]:
    running = Receiver(store, tmp_path / "log", network.port())
    running.start()
    yield running
    running.stop()


@pytest.fixture
def prometheus(
    receiver: Receiver, tmp_path: Path, network: Network
) -> Iterator[tuple[Program, str]]:
    """A Prometheus with a database of its own, so that it can be asked what it kept."""
    listen, page = f"127.0.0.1:{network.port()}", f"127.0.0.1:{receiver._server.config.port}"
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [{"job_name": "t", "static_configs": [{"targets": [page]}]}],
        "remote_write": [
            {
                "url": f"http://{page}{PATH}",
                "send_exemplars": True,
                "queue_config": {"batch_send_deadline": "1s", "max_backoff": "1s"},
            }
        ],
    }
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    program = Program(
        "prometheus",
        [
            PROMETHEUS.program("prometheus"),
            f"--config.file={tmp_path / 'prometheus.yml'}",
            f"--storage.tsdb.path={tmp_path / 'tsdb'}",
            f"--web.listen-address={listen}",
        ],
        logs=tmp_path,
    )
    program.start()
    yield program, f"http://{listen}"
    program.stop()


def kept_by(url: str, metric: str) -> dict[int, float]:
    """Samples that Prometheus has of a metric; it does not show stale markers."""
    answer = httpx2.get(f"{url}/api/v1/query", params={"query": f"{metric}[10m]"}).json()
    (series,) = answer["data"]["result"]
    return {round(float(ts) * 1000): float(value) for ts, value in series["values"]}


def kept_here(store: Store, metric: str) -> dict[int, float]:
    (sid,) = (each.id for each in all_series(store) if each.metric == metric)
    rows = store.engine.rows(
        "SELECT toUnixTimestamp64Milli(ts) AS ms, value FROM samples "
        "WHERE sid = {sid:UInt64} AND reinterpretAsUInt64(value) != {stale:UInt64}",
        {"sid": sid, "stale": STALE},
    )
    found = {row["ms"]: row["value"] for row in rows}
    assert len(found) == len(rows), f"{metric} is doubled"
    return found


def alike(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def test_prometheus_and_we_keep_the_same(
    store: Store, receiver: Receiver, prometheus: tuple[Program, str]
) -> None:
    program, url = prometheus
    target = receiver.target
    until(lambda: target.count >= 6)
    receiver.busy = True
    until(lambda: target.count >= 11)
    receiver.busy = False
    target.going = False
    until(lambda: target.count >= 15)
    receiver.restart_recorder()
    until(lambda: target.count >= 20)
    metrics = ("scrapes", "odd_zero", "odd_inf", "odd_nan", "odd_neg", "lab", "going", "up")
    theirs = {metric: kept_by(url, metric) for metric in metrics if metric != "going"}
    program.stop()  # it sends what it still holds
    until(lambda: receiver.recorder.stats().queue_rows == 0)
    for metric, samples in theirs.items():
        ours = kept_here(store, metric)
        assert samples.keys() <= ours.keys(), f"{metric}: lost"
        assert all(alike(ours[ms], value) for ms, value in samples.items()), metric
        assert len(ours) - len(samples) <= 3, f"{metric}: more than was scraped since"
    assert 5 <= len(kept_here(store, "going")) <= 15
    stale = store.engine.rows(
        "SELECT count() AS n FROM samples INNER JOIN series USING (sid) "
        "WHERE metric = 'going' AND reinterpretAsUInt64(value) = {stale:UInt64}",
        {"stale": STALE},
    )
    assert stale == [{"n": 1}]
    (labels,) = (dict(each.labels) for each in all_series(store) if each.metric == "lab")
    assert {k: labels.get(k) for k in "abc"} == {"a": "x\ny", "b": None, "c": "ü"}
    assert set(receiver.statuses) <= {204, 503}
    stats = receiver.recorder.stats()
    assert (stats.rejected, stats.log_damage) == ({}, ())
