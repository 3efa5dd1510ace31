"""Which samples of a series belong to which of the pods that bore its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seedance.costs import ledger as ledgers
from seedance.costs.lanes import LaneTable, SeriesColumns, containers_by_name, lane_table
from seedance.costs.lives import millis

from .scene import Scene, at, per_unit


def _no_sources(sids: Sequence[int]) -> Mapping[int, str]:
    return dict.fromkeys(sids, "0remote-write|")


def _lanes_of(scene: Scene) -> LaneTable:
    book = ledgers.build(scene.pods, scene.nodes, start=millis(at(0)), end=millis(at(60)))
    texts = {
        name: np.array([value], object)
        for name, value in (("cluster", "c"), ("namespace", "ns"), ("pod", "p"))
    }
    series = SeriesColumns(
        sid=np.array([7], np.int64), container=np.array(["main"], object), **texts
    )
    return lane_table(series, book, containers_by_name(book), clusters={"c"}, sources=_no_sources)


def test_a_pod_that_has_a_namesake_gets_no_sample_of_the_second_in_which_it_was_created() -> None:
    scene = Scene(per_unit(cpu=1))
    scene.node()
    scene.pod("p", cpu=1, deletion=10, gone=10)
    scene.pod("p", cpu=1, scheduled=10)
    lanes = _lanes_of(scene).lanes
    assert lanes.end[0] == millis(at(10))
    assert lanes.start.tolist() == [millis(at(0)), millis(at(10)) + 1000]


def test_a_pod_without_a_namesake_gets_every_sample_from_its_creation_on() -> None:
    scene = Scene(per_unit(cpu=1))
    scene.node()
    scene.pod("p", cpu=1, scheduled=10)
    assert _lanes_of(scene).lanes.start.tolist() == [millis(at(10))]
