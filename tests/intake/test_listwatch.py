"""List and watch of one kind: whatever happens, what is told is whole and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fake_api import PODS, FakeApi
from seedance.facts.errors import BusyError, NotFoundError, RefusedError, UnreachableError
from seedance.intake.access import Source
from seedance.intake.inventory import RESOURCES
from seedance.intake.kubernetes import Connection
from seedance.intake.listwatch import Alive, Changes, News, Pace, Page, Trouble, follow

POD = next(resource for resource in RESOURCES if resource.kind == "Pod")
FAST = Pace(
    page=3,
    watch_seconds=30,
    read_timeout=1.0,
    pause=0.02,
    longest_pause=0.1,
    steady=0.05,
)


class Told:
    """What a follower told, folded into the objects that a consumer would know."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.known: dict[str, str] = {}
        self.gone_by_list: set[str] = set()
        self._listed: dict[str, str] = {}

    def take(self, news: News) -> None:
        self.news.append(news)
        if isinstance(news, Page):
            self._listed = {} if news.first else self._listed
            self._listed |= dict(map(self._pair, news.objects))
            if news.last:
                self.gone_by_list |= self.known.keys() - self._listed.keys()
                self.known = dict(self._listed)
        elif isinstance(news, Changes):
            for kind, document in news.events:
                uid, version = self._pair(document)
                if kind == "DELETED":
                    self.known.pop(uid)
                else:
                    self.known[uid] = version

    @staticmethod
    def _pair(document: Any) -> tuple[str, str]:
        return document["metadata"]["uid"], document["metadata"]["resourceVersion"]

    def troubles(self) -> list[Trouble]:
        return [news for news in self.news if isinstance(news, Trouble)]


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with FakeApi() as running:
        yield running


@asynccontextmanager
async def following(api: FakeApi, folder: Path, pace: Pace = FAST) -> AsyncIterator[Told]:
    connection = Connection(Source(api.kubeconfig(folder)), timeout=2.0)
    told = Told()

    async def consume() -> None:
        async with aclosing(follow(connection, POD, pace=pace)) as news:
            async for each in news:
                told.take(each)

    task = asyncio.create_task(consume())
    try:
        yield told
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connection.close()


async def until(condition: Callable[[], bool], tries: int = 800) -> None:
    for _ in range(tries):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come about")


def holds(told: Told, api: FakeApi) -> Callable[[], bool]:
    """Whether what is known is what the server has, at the same versions."""

    def equal() -> bool:
        objects = api.objects.get(PODS, {})
        return told.known == {
            uid: document["metadata"]["resourceVersion"] for uid, document in objects.items()
        }

    return equal


async def pods(api: FakeApi, count: int) -> list[Any]:
    return [await api.put(PODS, api.document(f"p{i}", "shop")) for i in range(count)]


async def test_a_list_comes_in_pages_and_then_changes_follow(api: FakeApi, tmp_path: Path) -> None:
    first, second, *_ = await pods(api, 8)
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
        pages = [news for news in told.news if isinstance(news, Page)]
        assert [(len(p.objects), p.first, p.last) for p in pages] == [
            (3, True, False),
            (3, False, False),
            (2, False, True),
        ]
        await api.put(PODS, first)
        await api.delete(PODS, second)
        await pods(api, 2)
        await until(holds(told, api))
    assert not told.gone_by_list
    assert api.asked(PODS, watch=False) == 3


async def test_a_watch_that_the_server_ends_goes_on_without_a_list(
    api: FakeApi, tmp_path: Path
) -> None:
    await pods(api, 2)
    api.longest_watch = 0.2
    async with following(api, tmp_path) as told:
        await until(lambda: api.asked(PODS, watch=True) >= 3)
        await pods(api, 1)
        await until(holds(told, api))
    assert api.asked(PODS, watch=False) == 1
    assert not told.troubles()


async def test_bookmarks_keep_the_watch_fresh_while_history_is_forgotten(
    api: FakeApi, tmp_path: Path
) -> None:
    await pods(api, 2)
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
        for _ in range(50):
            await api.put("/api/v1/secrets", api.document("other", "shop"))
        marks = len(told.news)
        await until(lambda: any(isinstance(n, Alive) and n.current for n in told.news[marks:]))
        api.forgotten = api.version  # everything before the bookmark
        await api.drop()
        await pods(api, 1)
        await until(holds(told, api))
    assert api.asked(PODS, watch=False) == 1


async def test_forgotten_versions_lead_to_a_list_that_shows_what_is_gone(
    api: FakeApi, tmp_path: Path
) -> None:
    first, *_ = await pods(api, 5)
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
        api.silent = True
        await api.delete(PODS, first)
        api.forget()
        api.silent = False
        await until(holds(told, api))
    assert told.gone_by_list == {first["metadata"]["uid"]}


async def test_a_silent_connection_is_given_up_and_nothing_is_lost(
    api: FakeApi, tmp_path: Path
) -> None:
    first, *_ = await pods(api, 2)
    async with following(api, tmp_path, Pace(**{**_fields(FAST), "read_timeout": 0.3})) as told:
        await until(holds(told, api))
        api.silent = True
        await asyncio.sleep(0.1)
        await api.delete(PODS, first)
        await pods(api, 1)
        await asyncio.sleep(0.4)
        api.silent = False
        await until(holds(told, api))
    assert api.asked(PODS, watch=False) == 1
    assert not told.gone_by_list


async def test_cut_connections_are_resumed(api: FakeApi, tmp_path: Path) -> None:
    await pods(api, 2)
    async with following(api, tmp_path) as told:
        for _ in range(5):
            await until(holds(told, api))
            await api.drop()
            await pods(api, 3)
        await until(holds(told, api))
    assert not told.gone_by_list


async def test_a_server_that_was_away_is_taken_up_again(api: FakeApi, tmp_path: Path) -> None:
    first, *_ = await pods(api, 3)
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
        await api.stop()
        await until(lambda: bool(told.troubles()))
        await api.delete(PODS, first)
        await api.start()
        await until(holds(told, api))
    assert isinstance(told.troubles()[0].error, UnreachableError)


async def test_a_pause_that_the_server_asks_for_is_kept(api: FakeApi, tmp_path: Path) -> None:
    await pods(api, 1)
    api.busy = 1
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
    assert loop.time() - began >= 1.0
    assert isinstance(told.troubles()[0].error, BusyError)


@pytest.mark.parametrize(
    ("switch", "error"), [("forbidden", RefusedError), ("missing", NotFoundError)]
)
async def test_a_kind_that_is_refused_is_tried_again_now_and_then(
    api: FakeApi, tmp_path: Path, switch: str, error: type[Exception]
) -> None:
    await pods(api, 2)
    setattr(api, switch, {PODS})
    async with following(api, tmp_path) as told:
        await until(lambda: len(told.troubles()) >= 2)
        setattr(api, switch, set())
        await until(holds(told, api))
    assert all(isinstance(trouble.error, error) for trouble in told.troubles())
    assert len(api.requests) < 12


async def test_a_list_torn_between_pages_begins_again_with_larger_ones(
    api: FakeApi, tmp_path: Path
) -> None:
    await pods(api, 10)
    api.torn = 2
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
    limits = [request.query["limit"] for request in api.requests if not request.watch]
    assert limits[-1] != limits[0] == "3"
    assert told.news[0].objects  # type: ignore[union-attr]
    assert not told.gone_by_list


async def test_pauses_grow_while_nothing_works(api: FakeApi, tmp_path: Path) -> None:
    api.broken = 5
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
        await until(lambda: bool(told.news) and isinstance(told.news[-1], Alive))
    pauses = [trouble.pause for trouble in told.troubles()]
    assert len(pauses) == 5
    assert pauses[0] <= 0.02
    assert pauses[-1] >= 0.05


async def test_a_line_that_is_no_event_ends_the_watch_but_loses_nothing(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pods(api, 1)
    honest = FakeApi._tell
    odd = 1

    async def tell(writer: asyncio.StreamWriter, kind: str, document: Any) -> None:
        nonlocal odd
        if kind == "MODIFIED" and odd:
            odd -= 1
            writer.write(b"9\r\nnot json\n\r\n")
        await honest(writer, kind, document)

    monkeypatch.setattr(FakeApi, "_tell", staticmethod(tell))
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
        (document,) = api.objects[PODS].values()
        await pods(api, 1)
        await api.put(PODS, document)
        await until(holds(told, api))
    assert odd == 0


async def test_a_version_that_goes_back_is_a_restored_cluster_and_is_listed(
    api: FakeApi, tmp_path: Path
) -> None:
    await pods(api, 2)
    async with following(api, tmp_path) as told:
        await until(holds(told, api))
        await until(lambda: any(isinstance(n, Alive) and n.current for n in told.news))
        api.version = 500
        api.history = []
        api.objects[PODS] = {}
        await api.drop()
        await pods(api, 1)
        await until(holds(told, api))


def _fields(pace: Pace) -> dict[str, Any]:
    return {name: getattr(pace, name) for name in Pace.__dataclass_fields__}
