"""The journey of samples: body → log → answer, and in the background log → store.

`Recorder.accept` decodes a body, judges each sample, writes the body with the verdicts to the
write-ahead log and only then says yes. A thread closes a batch every second, or at 100,000
samples, and writes it to the store under the batch's token (`flush`); then the log may
forget it. Whatever fails back there turns `accept` into `BusyError` until it works again, so
that no sender believes in something that may not arrive. At the start the log is replayed: the
same bodies with the same verdicts give the same rows under the same token, and the store writes
those once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import structlog

from seedance.facts.errors import BusyError, IntakeError, SeedanceError, account_of
from seedance.facts.limits import Limits
from seedance.facts.rejections import Accepted
from seedance.facts.samples import Door, SampleColumns
from seedance.flows.recording.counts import Counts, RecorderStats
from seedance.flows.recording.flush import Flusher, Pending
from seedance.flows.recording.judging import judge, to_ms
from seedance.flows.recording.newest import Newest
from seedance.flows.recording.replay import read_again
from seedance.flows.recording.seriestable import SeriesTable
from seedance.intake.decoded import Decoded, Decoder
from seedance.store.logformat import Entry, pack_mask
from seedance.store.lookup import newest_of, samples_between, sync_inserts
from seedance.store.samples import all_series, last_timestamps, metric_ids
from seedance.store.store import Store
from seedance.store.wal import Batch, Wal

log = structlog.get_logger()

_LOOK_BACK = timedelta(hours=3)
"""How far back newest samples are read at the start; older series are asked for when needed."""
_RETRY_S = 2.0
_NO_INTS, _NO_FLOATS = np.empty(0, np.int64), np.empty(0, np.float64)


class Recorder:
    """Takes samples of all doors for one store; safe to share between threads.

    Args:
        store: the opened store.
        wal: the opened log, of which this recorder is the only user.
        decoders: one per door.
        clock: what time it is, UTC; used where samples reach the store.
        limits: what is taken at most.
        out_of_order: how far a sample may be behind the newest of its series.
        flush_rows: a batch is closed at this many samples, or after `flush_seconds`.
    """

    def __init__(
        self,
        store: Store,
        wal: Wal,
        *,
        decoders: Mapping[Door, Decoder],
        clock: Callable[[], datetime],
        limits: Limits | None = None,
        out_of_order: timedelta = timedelta(minutes=5),
        flush_rows: int = 100_000,
        flush_seconds: float = 1.0,
    ) -> None:
        self.limits = limits or Limits()
        self._store = store
        self._wal = wal
        self._decoders = decoders
        self._clock = clock
        self._flush_rows = flush_rows
        self._flush_seconds = flush_seconds
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)
        self._table = SeriesTable(self.limits)
        self._newest = Newest(
            look_up=self._look_up,
            last_of=self._last_of,
            late_ms=int(out_of_order.total_seconds() * 1000),
        )
        self._flusher = Flusher(store, self._table, lock=self._lock, clock=clock)
        self._open = Pending()
        self._closed: deque[Pending] = deque()
        self._counts = Counts()
        self._trouble = "not started"
        self._stopping = False
        self._wanted = self._flushed = 0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Learn what the store knows, take what the log still holds, and begin to accept.

        Raises:
            SeedanceError: if the store cannot be read.
        """
        if self._wal.fsync == "always":
            sync_inserts(self._store)
        self._table.load(all_series(self._store), metric_ids(self._store))
        since = self._clock() - _LOOK_BACK
        sid, ts = last_timestamps(self._store, since=since)
        stored = np.arange(1, len(self._table) + 1)
        self._newest.load(stored=stored, since=to_ms(since), sid=sid, ts=ts)
        self._table.see_pods(SampleColumns(sid, ts, np.zeros(len(ts))))
        for batch in self._wal.unfinished():
            self._closed.append(self._replay(batch))
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Store what is in the log, if the store takes it, and close the log."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread:
            self._thread.join()
        self._wal.close()

    def accept(self, body: bytes, *, door: Door, cluster: str, now: datetime) -> Accepted:
        """Take a body as it came; on return its samples are in the log.

        `cluster` is the one that the sender is bound to, or "" (then a label may name it). Samples
        that are rejected are told in the answer; sending them again will not help.

        Raises:
            IntakeError: if the body is not what it says: nothing of it is taken.
            BusyError: nothing is taken, or it is not certain that it stays: send it again.
        """
        self._check()
        decoded = self._decode(body, door=door, cluster=cluster, now=now)
        with self._wake:
            self._check()
            numbers, refusals = self._table.number(decoded.keys, door=door, cluster=cluster)
            judged = judge(
                decoded,
                numbers=numbers,
                refusals=refusals,
                newest=self._newest,
                limits=self.limits,
                now=now,
            )
            if len(judged.columns):
                taken = pack_mask(judged.mask)
                entry = Entry(door, cluster, to_ms(now), len(judged.mask), taken, body)
                self._append(entry, judged.columns)
            self._counts.add(decoded, judged)
        self._sync()
        return Accepted(
            samples=len(judged.mask),
            written=judged.written,
            rejected=judged.rejected,
            left_out=decoded.left_out,
        )

    def flush(self, *, timeout: float = 10.0) -> None:
        """Returns once everything that was accepted before the call is in the store.

        Raises:
            BusyError: if that takes longer than `timeout` seconds, or the store does not take it.
        """
        with self._wake:
            self._wanted += 1
            mine = self._wanted
            self._wake.notify_all()
            if not self._wake.wait_for(lambda: self._flushed >= mine, timeout=timeout):
                why = self._trouble or f"{self._queue_rows()} samples wait for the store"
                raise BusyError(f"not everything is in the store yet: {why}")

    def fresh_pods(self, cluster_names: Collection[str], since: datetime) -> set[tuple[str, str]]:
        """(namespace, pod) of which remote write brought use newer than `since`.

        `cluster_names` is what the samples' cluster may read (id, name, "" for the only one).
        """
        with self._lock:
            return self._table.fresh_pods(cluster_names, to_ms(since))

    def stats(self) -> RecorderStats:
        """How it is right now."""
        now = self._clock()
        with self._lock:
            counts = self._counts
            waiting = self._closed[0].since if self._closed else self._open.since
            return RecorderStats(
                healthy=not self._trouble,
                reason=self._trouble,
                series=len(self._table),
                bodies=counts.bodies,
                samples=counts.samples,
                resent=counts.resent,
                rejected=dict(counts.rejected),
                left_out=dict(counts.left_out),
                samples_per_second=counts.rate(now),
                queue_rows=self._queue_rows(),
                queue_age_s=(now - waiting).total_seconds() if waiting else 0.0,
                last_flush=counts.last_flush,
                stored=counts.stored,
                log_bytes=self._wal.size,
                log_damage=tuple(self._wal.damage),
            )

    def _decode(self, body: bytes, *, door: Door, cluster: str, now: datetime) -> Decoded:
        try:
            return self._decoders[door](body, now, self._table.known(door, cluster))
        except SeedanceError:
            raise
        except Exception as error:
            # A fault of ours, but this body will fail again: its sender must not repeat it.
            log.exception("decoder-failed", door=door, bytes=len(body))
            raise IntakeError(f"the body cannot be decoded: {error!r}") from error

    def _check(self) -> None:
        if self._stopping:
            raise BusyError("the server is stopping", retry_after=5)
        if self._trouble:
            raise BusyError(f"samples cannot be stored: {self._trouble}", retry_after=5)
        if self._queue_rows() >= self.limits.queue_rows:
            raise BusyError(
                f"{self.limits.queue_rows} samples wait for the store; send more slowly",
                retry_after=2,
            )

    def _queue_rows(self) -> int:
        return self._open.rows + sum(batch.rows for batch in tuple(self._closed))

    def _append(self, entry: Entry, columns: SampleColumns) -> None:
        """To the log first; only what is there is remembered."""
        try:
            self._wal.append(entry, taken=len(columns))
        except BusyError as error:
            self._trouble = str(error)
            raise
        self._remember(columns)
        self._open.add(columns)
        self._open.since = self._open.since or self._clock()
        if self._open.rows >= self._flush_rows:
            self._wake.notify_all()

    def _remember(self, columns: SampleColumns) -> None:
        self._newest.reserve(int(columns.sid.max(initial=0)))
        self._newest.commit(columns.sid, columns.ts, columns.value.view(np.int64))
        self._table.see_pods(columns)

    def _sync(self) -> None:
        try:
            self._wal.sync_if_due()
        except BusyError as error:
            # Written, but maybe not on the disk: once it is in the store, a resend is welcome.
            self._trouble = str(error)
            raise

    def _run(self) -> None:
        """The flusher's thread."""
        well, stopping = True, False
        try:
            while not stopping:
                pause = self._flush_seconds if well else _RETRY_S
                with self._wake:
                    self._wake.wait_for(self._due, timeout=pause)
                    stopping, wanted = self._stopping, self._wanted
                well = self._flush()
                if well:
                    with self._wake:
                        self._flushed = wanted
                        self._wake.notify_all()
        finally:
            self._trouble = self._trouble or "the recorder has stopped"

    def _due(self) -> bool:
        full = self._open.rows >= self._flush_rows
        asked = full or self._wanted > self._flushed
        return self._stopping or (asked and not self._trouble)

    def _flush(self) -> bool:
        """Store everything that is in the log; False, and the reason kept, if that failed."""
        try:
            self._close_batch()
            while self._closed:
                self._store_batch(self._closed[0])
            self._wal.sync()
            if self._trouble:
                self._wal.probe()
        except Exception as error:  # a flusher that dies in silence would lose samples
            self._trouble = str(error) or type(error).__name__
            unexpected = not isinstance(error, SeedanceError)
            log.exception("flush-failed", **account_of(error), exc_info=unexpected)
            return False
        with self._lock:
            self._counts.mark(self._clock())
            if not self._open.rows:  # else a body may be among them that is not on the disk
                self._trouble = ""
        return True

    def _close_batch(self) -> None:
        with self._lock:
            token = self._wal.cut()
            if token:
                self._open.token = token
                self._closed.append(self._open)
                self._open = Pending()

    def _store_batch(self, batch: Pending) -> None:
        if batch.earlier:
            self._wal.adopt(batch.earlier)
        self._flusher.write(batch)
        self._wal.done(batch.token)
        with self._lock:
            self._closed.popleft()
            self._counts.stored += batch.rows
            self._counts.last_flush = self._clock()

    def _replay(self, batch: Batch) -> Pending:
        """The rows of a batch of an earlier run, as they were."""
        pending = Pending(batch.token, since=self._clock(), earlier=replace(batch, entries=()))
        for entry in batch.entries:
            try:
                columns = read_again(entry, decoders=self._decoders, table=self._table)
            except (SeedanceError, LookupError, ValueError) as error:
                self._wal.keep_aside(batch.token, f"a body cannot be read: {error}")
                continue
            self._remember(columns)
            pending.add(columns)
        log.info("log-replayed", token=batch.token, bodies=len(batch.entries), rows=pending.rows)
        return pending

    def _waiting(self, sids: Collection[int]) -> SampleColumns:
        """Samples of these series that are in the log and not in the store."""
        chunks = [chunk for batch in (*self._closed, self._open) for chunk in batch.chunks]
        wanted = np.fromiter(sids, np.int64, len(sids))
        parts = [(c, np.isin(c.sid, wanted)) for c in chunks]
        return SampleColumns(
            np.concatenate([_NO_INTS, *(c.sid[of] for c, of in parts)]),
            np.concatenate([_NO_INTS, *(c.ts[of] for c, of in parts)]),
            np.concatenate([_NO_FLOATS, *(c.value[of] for c, of in parts)]),
        )

    def _look_up(self, sids: Collection[int], first: int, last: int) -> dict[tuple[int, int], int]:
        metrics = set(self._table.metric_of[list(sids)].tolist())
        with _busy_if_unreadable():
            stored = samples_between(
                self._store, metric_ids=metrics, sids=sids, first=first, last=last
            )
        found: dict[tuple[int, int], int] = {}
        for columns in (stored, self._waiting(sids)):
            bits = columns.value.view(np.int64).tolist()
            keys = zip(columns.sid.tolist(), columns.ts.tolist(), strict=True)
            found.update(zip(keys, bits, strict=True))
        return found

    def _last_of(self, sids: Collection[int]) -> dict[int, int]:
        metrics = set(self._table.metric_of[list(sids)].tolist())
        with _busy_if_unreadable():
            found = newest_of(self._store, metric_ids=metrics, sids=sids)
        waiting = self._waiting(sids)
        for sid, ts in zip(waiting.sid.tolist(), waiting.ts.tolist(), strict=True):
            found[sid] = max(ts, found.get(sid, ts))
        return found


@contextmanager
def _busy_if_unreadable() -> Iterator[None]:
    try:
        yield
    except BusyError:
        raise
    except SeedanceError as error:
        log.warning("store-unreadable", **account_of(error))
        raise BusyError(f"the store cannot be read: {error}") from error
