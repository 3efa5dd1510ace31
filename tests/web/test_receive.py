"""The remote-write door over a real server: status codes, headers, texts, and what is stored."""

from __future__ import annotations

import asyncio
import resource
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import cramjam
import httpx2
import pytest
import uvicorn
from fastapi import FastAPI, Request

from remote_write_messages import WriteRequest, body, message, named, pack, series
from seedance.facts.errors import BusyError, RefusedError, UnauthenticatedError
from seedance.facts.limits import Limits
from seedance.flows.record import Recorder
from seedance.intake import remotewrite
from seedance.store.samples import all_series
from seedance.store.store import Store
from seedance.store.wal import Wal
from seedance.web.receive import PATH, write_router

NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
T = int(NOW.timestamp() * 1000)
HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """A server of its own on a free port of loopback."""
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", loop="uvloop")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}{PATH}"
    finally:
        server.should_exit = True
        thread.join()


def authenticate(request: Request) -> str:
    """Test tokens: `cluster NAME` is bound to it, `none` and `viewer` may not write."""
    shown = request.headers.get("authorization", "")
    if shown == "none":
        raise UnauthenticatedError("no token, or one that is not known")
    if shown == "viewer":
        raise RefusedError("this token may only view")
    return shown.removeprefix("cluster ")


class Door:
    """A running receiver and the store behind it."""

    def __init__(self, url: str, recorder: Recorder, store: Store) -> None:
        self.url = url
        self.recorder = recorder
        self.store = store
        self.client = httpx2.Client(timeout=30)

    def post(self, data: bytes, **headers: str) -> httpx2.Response:
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        merged = {k: v for k, v in {**HEADERS, **changed}.items() if v}
        return self.client.post(self.url, content=data, headers=merged)

    def send(self, *all_series: Any, **headers: str) -> httpx2.Response:
        return self.post(body(*all_series), **headers)

    def stored(self) -> dict[str, list[tuple[int, float]]]:
        """What is in the store once everything has been flushed."""
        for _ in range(1000):
            if not self.recorder.stats().queue_rows:
                break
            time.sleep(0.01)
        names = {each.id: each.metric for each in all_series(self.store)}
        rows = self.store.engine.rows(
            "SELECT sid, toUnixTimestamp64Milli(ts) AS ms, value FROM samples ORDER BY sid, ts"
        )
        found: dict[str, list[tuple[int, float]]] = {}
        for row in rows:
            found.setdefault(names[row["sid"]], []).append((row["ms"], row["value"]))
        return found


Open = Callable[..., Door]


@pytest.fixture
def opened(store: Store, tmp_path: Path) -> Iterator[Open]:
    """Opens doors on the store; options are the recorder's."""
    closers: list[Callable[[], object]] = []

    def begin(**options: Any) -> Door:
        limits = options.pop("limits", Limits())
        recorder = Recorder(
            store,
            Wal.open(tmp_path / "log", fsync="never"),
            decoders={"remote-write": remotewrite.decoder(limits)},
            clock=lambda: NOW,
            limits=limits,
            flush_seconds=0.02,
            **options,
        )
        recorder.start()
        closers.append(recorder.stop)
        app = FastAPI()
        app.include_router(write_router(recorder, authenticate, now=lambda: NOW))
        server = serving(app)
        door = Door(server.__enter__(), recorder, store)
        closers.append(lambda: server.__exit__(None, None, None))
        closers.append(door.client.close)
        return door

    yield begin
    for close in reversed(closers):
        close()


@pytest.fixture
def door(opened: Open) -> Door:
    return opened()


def written(response: httpx2.Response) -> list[str]:
    return [
        response.headers[f"X-Prometheus-Remote-Write-{kind}-Written"]
        for kind in ("Samples", "Histograms", "Exemplars")
    ]


# ---------------------------------------------------------------- the cases


def test_case_1_a_partial_write_names_the_bad_one_and_keeps_the_rest(opened: Open) -> None:
    door = opened(out_of_order=timedelta(seconds=60))
    assert door.send(named("a", [(T, 1.0)])).status_code == 204
    told = door.send(
        named("b", [(T, 2.0)]), named("a", [(T - 90_000, 1.0)]), named("c", [(T, 3.0)])
    )
    assert told.status_code == 400
    assert told.headers["content-type"].startswith("text/plain")
    first_line = told.text.splitlines()[0]
    assert "1 of 3 samples rejected, 2 stored: a{} at " in first_line
    assert "out of order" in first_line
    assert "2026-11-30T12:28:30Z" in first_line
    assert "2026-11-30T12:30:00Z" in first_line, "the newest sample is named"
    assert written(told) == ["2", "0", "0"]
    assert door.stored() == {"a": [(T, 1.0)], "b": [(T, 2.0)], "c": [(T, 3.0)]}


def test_case_2_the_same_body_twice_is_204_twice_and_stored_once(door: Door) -> None:
    data = body(*[named("m", [(T, float(i))], i=str(i)) for i in range(100)])
    for _ in range(2):
        told = door.post(data)
        assert (told.status_code, told.content, written(told)[0]) == (204, b"", "100")
    assert len(door.stored()["m"]) == 100


def test_case_3_a_conflicting_duplicate_is_400_and_the_first_value_stays(door: Door) -> None:
    door.send(named("a", [(T, 1.0)]))
    told = door.send(named("a", [(T, 2.0)]))
    assert (told.status_code, written(told)[0]) == (400, "0")
    assert "duplicate timestamp, other value" in told.text.splitlines()[0]
    told = door.send(named("b", [(T, 1.0), (T, 2.0)]))
    assert (told.status_code, written(told)[0]) == (400, "1")
    assert "duplicate timestamp, other value" in told.text.splitlines()[0]
    assert door.stored() == {"a": [(T, 1.0)], "b": [(T, 1.0)]}


def test_case_4_a_snappy_bomb_costs_nothing(door: Door) -> None:
    door.send(named("a", [(T, 1.0)]))
    bomb = bytes.fromhex("ffffffff0f") + bytes(20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.thread_time()
    told = [door.post(bomb) for _ in range(20)]
    assert {each.status_code for each in told} <= {400, 413}
    assert (time.thread_time() - began) / 20 < 0.005
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024
    began = time.perf_counter()
    with pytest.raises(remotewrite.TooLargeError):
        remotewrite.unpack(bomb, limits=Limits())
    assert time.perf_counter() - began < 0.005


def test_case_4_a_small_body_that_declares_what_the_limit_allows_is_refused_too(
    door: Door,
) -> None:
    size, head = 31 << 20, bytearray()
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    told = door.post(bytes([*head, size]) + bytes(20))
    assert told.status_code == 400
    assert "more than" in told.text


def test_case_4_framed_snappy_is_400_and_gzip_is_415_before_the_body_is_looked_at(
    door: Door,
) -> None:
    framed = bytes(cramjam.snappy.compress(message(named("a", [(T, 1.0)]))))
    told = door.post(framed)
    assert told.status_code == 400
    assert "framed" in told.text
    assert door.post(b"garbage", Content_Encoding="gzip").status_code == 415


def test_case_5_a_duplicate_label_name_is_400_and_the_others_are_stored(door: Door) -> None:
    bad = series([("__name__", "e"), ("x", "1"), ("x", "2")], [(T, 1.0)])
    told = door.send(named("d", [(T, 1.0)]), bad, named("f", [(T, 1.0)]))
    assert (told.status_code, written(told)[0]) == (400, "2")
    assert 'e{x="1", x="2"}' in told.text.splitlines()[0]
    assert door.stored() == {"d": [(T, 1.0)], "f": [(T, 1.0)]}


def test_case_6_stale_bits_and_other_nans_are_stored_as_they_are(door: Door) -> None:
    stale, plain = (
        struct.unpack("<d", struct.pack("<Q", bits))[0]
        for bits in (0x7FF0000000000002, 0x7FF8000000000001)
    )
    door.send(named("g", [(T, 5.0)]))
    assert door.send(named("g", [(T + 1000, stale)]), named("h", [(T, plain)])).status_code == 204
    door.stored()
    found = door.store.engine.rows(
        "SELECT hex(reinterpretAsUInt64(value)) AS bits FROM samples ORDER BY sid, ts"
    )
    assert [row["bits"] for row in found][1:] == ["7FF0000000000002", "7FF8000000000001"]


def test_case_7_labels_in_any_order_are_one_series(door: Door) -> None:
    one = series([("z", "1"), ("__name__", "s"), ("b", "2")], [(T, 1.0)])
    two = series([("__name__", "s"), ("b", "2"), ("z", "1")], [(T + 1000, 2.0)])
    assert [door.send(each).status_code for each in (one, two)] == [204, 204]
    assert door.stored() == {"s": [(T, 1.0), (T + 1000, 2.0)]}
    assert len(list(all_series(door.store))) == 1


# ---------------------------------------------------------------- headers


def test_content_types_other_than_remote_write_1_are_415(door: Door) -> None:
    for content_type in (
        "application/x-protobuf",
        "Application/X-Protobuf ; proto=prometheus.WriteRequest",
        'application/x-protobuf;proto="prometheus.WriteRequest"',
        "application/x-protobuf; charset=utf-8",
    ):
        told = door.send(named("a", [(T, 1.0)]), Content_Type=content_type)
        assert told.status_code == 204, content_type
    for content_type in (
        "application/x-protobuf;proto=io.prometheus.write.v2.Request",
        "application/x-protobuf;proto=other",
        "application/json",
        "image/png",
        "",
    ):
        for data in (body(named("a", [(T, 1.0)])), b"garbage"):
            told = door.post(data, Content_Type=content_type)
            assert told.status_code == 415, content_type
            assert told.text.strip()
            assert written(told) == ["0", "0", "0"]


def test_remote_write_2_is_told_what_to_send_instead(door: Door) -> None:
    told = door.post(
        b"", Content_Type="application/x-protobuf;proto=io.prometheus.write.v2.Request"
    )
    assert "send remote write 1.0" in told.text


def test_encodings_other_than_snappy_are_415(door: Door) -> None:
    for encoding in ("gzip", "deflate", "zstd", "identity", ""):
        told = door.send(named("a", [(T, 1.0)]), Content_Encoding=encoding)
        assert told.status_code == 415, encoding


def test_the_version_header_is_never_a_reason(door: Door) -> None:
    for version in ("0.1.0", "2.0.0", "9", ""):
        told = door.send(named("a", [(T, 1.0)]), X_Prometheus_Remote_Write_Version=version)
        assert told.status_code == 204, version


def test_who_may_not_write_is_told_so_and_nothing_is_read(door: Door) -> None:
    told = door.post(b"garbage", Authorization="none")
    assert (told.status_code, told.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert door.post(b"garbage", Authorization="viewer").status_code == 403


def test_the_tokens_cluster_is_the_samples_cluster(door: Door) -> None:
    door.send(named("a", [(T, 1.0)], cluster="label"), Authorization="cluster bound")
    door.stored()
    assert [each.cluster for each in all_series(door.store)] == ["bound"]


# ---------------------------------------------------------------- bodies


def test_a_corrupt_body_is_400_and_nothing_is_stored(door: Door) -> None:
    for data in (
        b"",
        b"\x00\x01",
        b"not snappy at all",
        pack(b"\x0a"),
        pack(b"\x0a\x05\x0a\x03\x0a\x01"),
        pack(message(named("a", [(T, 1.0)]))[:-1]),
        pack(message(named("a", [(T, 1.0)])))[:-1],
        pack(b"\xff" * 40),
    ):
        told = door.post(data)
        assert (told.status_code, written(told)) == (400, ["0", "0", "0"]), data
        assert told.text.strip()
    assert door.stored() == {}


def test_an_empty_request_is_204(door: Door) -> None:
    assert door.post(pack(b"")).status_code == 204


def test_metadata_exemplars_and_histograms_never_break_samples(door: Door) -> None:
    request = WriteRequest()
    request.ParseFromString(message(named("a", [(T, 1.0)]), named("b", [(T, 2.0)]), named("c", [])))
    request.metadata.append(b"\x08\x01\x12\x01a")
    request.timeseries[0].exemplars.append(b"\x11" + bytes(8))
    request.timeseries[2].histograms.append(b"not even a message")
    told = door.post(pack(request.SerializeToString()))
    assert (told.status_code, written(told)) == (204, ["2", "0", "0"])
    assert door.stored() == {"a": [(T, 1.0)], "b": [(T, 2.0)]}
    assert door.recorder.stats().left_out == {"metadata": 1, "exemplars": 1, "histograms": 1}


def test_a_timestamp_in_seconds_is_named_as_that(door: Door) -> None:
    told = door.send(named("a", [(T // 1000, 1.0)]), named("b", [(T, 1.0)]))
    assert (told.status_code, written(told)[0]) == (400, "1")
    assert f"a{{}} at {T // 1000}" in told.text
    assert "looks like seconds; milliseconds are expected" in told.text


def test_many_reasons_are_counted_and_shown_with_a_few_examples_each(door: Door) -> None:
    old = [named("old", [(T - 20 * 86_400_000, 1.0)], i=str(i)) for i in range(50)]
    ahead = [named("ahead", [(T + 600_000, 1.0)], i=str(i)) for i in range(7)]
    nameless = [series([("i", str(i))], [(T, 1.0)]) for i in range(3)]
    told = door.send(*old, *ahead, *nameless, named("good", [(T, 1.0)]))
    assert told.status_code == 400
    lines = told.text.splitlines()
    assert lines[0].startswith("60 of 61 samples rejected, 1 stored: ")
    assert len(lines[0]) < 1000
    assert any(line.startswith("50 × timestamp too old") for line in lines)
    assert any(line.startswith("7 × timestamp in the future") for line in lines)
    assert any(line.startswith("3 × no metric name") for line in lines)
    assert len(lines) == 1 + 3 * 4


def test_label_text_cannot_break_the_answer_apart(door: Door) -> None:
    bad = series([("__name__", "m"), ("x", 'a\nb\r\0"\\\x1b[31m'), ("x", "ü")], [(T, 1.0)])
    first = door.send(bad).text.splitlines()[0]
    assert r'm{x="a\nb\r\x00\"\\\x1b[31m", x="ü"}' in first


# ---------------------------------------------------------------- too much


def test_a_body_over_the_limit_is_413_whether_its_size_is_declared_or_not(opened: Open) -> None:
    door = opened(limits=Limits(body_bytes=10_000))
    large = bytes(10_001)
    assert door.post(large).status_code == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(11):
            yield bytes(1000)

    told = door.client.post(door.url, content=chunks(), headers=HEADERS)
    assert told.status_code == 413
    inflated = body(*[named("m" * 500, [(T, 1.0)], i=str(i)) for i in range(100)])
    assert len(inflated) < 10_000
    assert door.post(inflated).status_code == 413
    assert door.send(named("a", [(T, 1.0)])).status_code == 204


def test_a_server_without_a_recorder_says_so() -> None:
    app = FastAPI()
    app.include_router(write_router(None, authenticate))
    with serving(app) as url:
        told = httpx2.post(url, content=body(named("a", [(T, 1.0)])), headers=HEADERS)
    assert (told.status_code, told.headers["Retry-After"]) == (503, "60")


def test_a_full_queue_is_503_with_retry_after(opened: Open) -> None:
    door = opened(limits=Limits(queue_rows=0))
    told = door.send(named("a", [(T, 1.0)]))
    assert told.status_code == 503
    assert int(told.headers["Retry-After"]) > 0
    assert written(told) == ["0", "0", "0"]


def test_a_log_that_cannot_be_written_is_503_with_retry_after(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise BusyError("cannot write the write-ahead log: no space left", retry_after=10)

    with monkeypatch.context() as patch:
        patch.setattr(Wal, "append", full)
        told = door.send(named("a", [(T, 1.0)]))
        assert (told.status_code, told.headers["Retry-After"]) == (503, "10")
    for _ in range(500):
        if door.send(named("a", [(T, 1.0)])).status_code == 204:
            break
        time.sleep(0.01)
    assert door.stored() == {"a": [(T, 1.0)]}


def test_more_bodies_at_one_time_than_there_is_room_for_are_503(opened: Open) -> None:
    door = opened(limits=Limits(flight_bytes=50))
    told = door.send(named("a" * 100, [(T, 1.0)]), named("b", [(T, 1.0)]))
    assert (told.status_code, told.headers["Retry-After"]) == (503, "1")


async def test_senders_that_go_away_in_the_middle_leave_room_for_others(opened: Open) -> None:
    door = opened(limits=Limits(flight_bytes=1000))
    port = httpx2.URL(door.url).port
    for _ in range(5):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        writer.write(
            f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n{head}\r\nabc".encode()
        )
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(0.05)
    told = await asyncio.to_thread(door.send, named("a", [(T, 1.0)]))
    assert told.status_code == 204


def test_senders_at_one_time_lose_and_double_nothing(door: Door) -> None:
    def work(sender: int) -> None:
        with httpx2.Client() as client:
            for at in range(25):
                data = body(*[named(f"m{sender}", [(T + at, 1.0)], i=str(i)) for i in range(20)])
                assert client.post(door.url, content=data, headers=HEADERS).status_code == 204

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: len(found) for name, found in door.stored().items()} == {
        f"m{n}": 500 for n in range(6)
    }
