import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs

from seed import START, seed
from seedance.clock import Clock
from seedance.facts.errors import BusyError
from seedance.facts.inventory import Cluster, ClusterId
from seedance.facts.samples import SampleColumns, Series, SeriesId
from seedance.flows.settling.adopt import adopt
from seedance.flows.settling.settle import Settler, SettleResult
from seedance.manifests.load import load_manifests
from seedance.store.adopted import adopted
from seedance.store.objects import put_cluster
from seedance.store.samples import put_metric_ids, put_samples, put_series
from seedance.store.settles import dirty_hours
from seedance.store.store import Store

CPU = "container_cpu_usage_seconds_total"
NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
RULES = """
apiVersion: cost.seedance.io/v2
kind: OwnershipRules
metadata: {name: house}
spec:
  validFrom: 2026-01-01T00:00:00Z
  team: {from: [%s]}
"""


class Settling:
    """Stands in for the settler: counts rounds, fails when told to."""

    def __init__(self) -> None:
        self.rounds = 0
        self.done = threading.Event()
        self.trouble: Exception | None = None
        self.manifests = load_manifests([])

    def settle_due(self, now: datetime) -> list[SettleResult]:
        self.rounds += 1
        self.done.set()
        if self.trouble:
            raise self.trouble
        return []


def clock_of(store: Store, settling: Settling, *paths: Path, every: float = 60.0) -> Clock:
    return Clock(store, settling, paths=paths, every=every, now=lambda: NOW)  # type: ignore[arg-type]


def test_a_round_that_fails_is_told_and_the_next_one_heals(store: Store) -> None:
    settling = Settling()
    clock = clock_of(store, settling)
    settling.trouble = BusyError("no space left")
    assert clock.round() == []
    assert (clock.state().healthy, clock.state().failures) == (False, 1)
    assert "no space left" in clock.state().reason
    settling.trouble = ZeroDivisionError("a bug")
    clock.round()
    assert "ZeroDivisionError" in clock.state().reason
    settling.trouble = None
    clock.round()
    assert (clock.state().healthy, clock.state().reason) == (True, "")


async def test_it_stops_after_the_round_that_runs(store: Store) -> None:
    settling = Settling()
    clock = clock_of(store, settling)
    running = asyncio.create_task(clock.run())
    await asyncio.to_thread(settling.done.wait, 10)
    clock.stop()
    await asyncio.wait_for(running, 10)
    assert settling.rounds == 1


def test_an_edit_of_the_rules_settles_the_open_month_anew(store: Store, tmp_path: Path) -> None:
    seed(store)
    file = tmp_path / "rules.yaml"
    file.write_text(RULES % "{label: team}")
    settling = Settling()
    settling.manifests = load_manifests([file])
    assert adopt(store, settling.manifests, now=NOW) == 0, "the first ones change nothing"
    clock = clock_of(store, settling, file)
    clock.round()
    file.write_text(RULES % "{label: team}, {label: owner}")
    clock.round()
    assert adopted(store) == settling.manifests.fingerprint != ""
    marked = dirty_hours(store, cluster="aaaaaaaa-0000-4000-8000-000000000001", before=NOW)
    assert marked[0] == START
    assert len(marked) == 60, "the running hour is settled each minute anyway"
    assert adopt(store, settling.manifests, now=NOW) == 0, "the same again changes nothing"


def test_a_closed_month_stays_as_it_was(store: Store, tmp_path: Path) -> None:
    seed(store)
    file = tmp_path / "rules.yaml"
    file.write_text(RULES % "{label: team}")
    adopt(store, load_manifests([file]), now=NOW)
    file.write_text(RULES % "{label: owner}")
    later = datetime(2026, 12, 1, 0, 30, tzinfo=UTC)
    assert adopt(store, load_manifests([file]), now=later) == 2, "one hour of each cluster"


def test_a_broken_edit_is_told_and_leaves_the_old_in_force(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES % "{label: team}")
    settling = Settling()
    before = settling.manifests = load_manifests([file])
    clock = clock_of(store, settling, tmp_path)
    file.write_text("kind: Nonsense")
    clock.round()
    assert settling.manifests is before
    assert clock.manifest_state().healthy is False
    assert "rules.yaml" in clock.manifest_state().reason
    file.write_text(RULES % "{label: owner}")
    clock.round()
    assert clock.manifest_state().healthy is True


@pytest.mark.parametrize(("minutes", "sweeps"), [(30, 0), (61, 1)])
def test_it_sweeps_each_hour(
    store: Store, monkeypatch: pytest.MonkeyPatch, minutes: int, sweeps: int
) -> None:
    times = [NOW]
    swept: list[datetime] = []

    def count(_: Store, *, now: datetime) -> int:
        swept.append(now)
        return 0

    monkeypatch.setattr("seedance.clock.sweep", count)
    clock = Clock(store, Settling(), paths=(), every=60, now=lambda: times[-1])  # type: ignore[arg-type]
    times.append(NOW + timedelta(minutes=minutes))
    clock.round()
    assert len(swept) == sweeps


def test_the_real_settler_fits(store: Store) -> None:
    clock = Clock(
        store, Settler(store, load_manifests([])), paths=(), every=60, now=lambda: NOW
    )  # fmt: skip
    assert clock.round() == []
    assert clock.state().healthy


def test_a_name_that_no_watched_cluster_has_is_told_once(store: Store) -> None:
    put_cluster(store, Cluster(ClusterId("u-1"), "admin@prod", START), now=START)
    put_metric_ids(store, {CPU: 1}, now=NOW)
    put_series(store, [Series(SeriesId(1), CPU, (), "prod", "remote-write")], now=NOW)
    one = np.array([1])
    columns = SampleColumns(one, one * int(NOW.timestamp() * 1000), np.array([1.0]))
    put_samples(store, one, columns, token="a")
    clock = clock_of(store, Settling())
    with capture_logs() as logs:
        for _ in range(4):
            clock.round()
    (told,) = logs
    assert told["log_level"] == "warning"
    assert (told["arriving"], told["watched"]) == (["prod"], ["admin@prod"])
    assert "--cluster NAME=KUBECONFIG" in told["do"]
