"""Too much at the remote-write door: refused with the right status, and on again afterwards."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import httpx2
import pytest
from doors import HEADERS, Door, Open, T, authenticate, serving, written
from fastapi import FastAPI

from remote_write_messages import body, named
from seedance.facts.errors import BusyError
from seedance.facts.limits import Limits
from seedance.store.wal import Wal
from seedance.web.receive import PATH, write_router

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
