"""Bodies of the demo: what the product's own decoder reads out of them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from seedance.demo.loads import HOUR_MS, SHAPE_NUMBER, Meters, Name
from seedance.demo.payload import encode_samples, message, stale_samples
from seedance.demo.sender import CPU, MEMORY, Sender
from seedance.facts.limits import Limits
from seedance.facts.samples import STALE_BITS
from seedance.intake.labelset import LabelSet, encode_labels, read_labels
from seedance.intake.remotewrite import decode

LIMITS = Limits()
START = 1_796_000_000_000


def test_samples_come_out_as_they_went_in() -> None:
    ts = np.array([[START, START + 60_000, START + 120_000]] * 2, np.int64)
    values = np.array([[0.0, 1.5, -2.25], [1e300, 3.0, 2**40 + 0.5]])
    keys = [encode_labels((("__name__", "m"), ("pod", pod))) for pod in ("a", "b")]
    block = encode_samples(ts, values)
    body = message((key, block[row].tobytes()) for row, key in enumerate(keys))
    found = decode(body, limits=LIMITS)
    assert found.keys == keys
    assert found.counts.tolist() == [3, 3]
    assert found.ts.tolist() == ts.ravel().tolist()
    assert found.value.tolist() == values.ravel().tolist()


def test_a_stale_marker_keeps_its_bits() -> None:
    key = encode_labels((("__name__", "m"),))
    body = message([(key, stale_samples(np.array([START], np.int64)).tobytes())])
    assert decode(body, limits=LIMITS).value.view(np.uint64).tolist() == [int(STALE_BITS)]


@dataclass
class Caught:
    """What a sender posted: per (metric, pod) its times and values."""

    series: dict[tuple[str, str], list[tuple[int, float]]] = field(default_factory=dict)

    def take(self, body: bytes) -> None:
        found = decode(body, limits=LIMITS)
        at = 0
        for key, count in zip(found.keys, found.counts.tolist(), strict=True):
            labels = read_labels(key, LIMITS)
            assert isinstance(labels, LabelSet)
            pairs = zip(found.ts[at : at + count], found.value[at : at + count], strict=True)
            name = labels.metric, dict(labels.labels)["pod"]
            self.series.setdefault(name, []).extend((int(t), float(v)) for t, v in pairs)
            at += count


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> Caught:
    found = Caught()
    post: Callable[[Sender, bytes], None] = lambda _, body: found.take(body)  # noqa: E731
    monkeypatch.setattr(Sender, "_post", post)
    return found


def meters() -> Meters:
    """One that runs all the time and one that ends after an hour and a half."""
    return Meters(
        names=tuple(Name("c", "n", "ns", pod, "main", "i") for pod in ("long", "short")),
        start=np.array([START - HOUR_MS, START + 30_000], np.int64),
        end=np.array([START + 10 * HOUR_MS, START + 3 * HOUR_MS // 2], np.int64),
        shape=np.array([SHAPE_NUMBER["steady"], SHAPE_NUMBER["batch"]], np.int64),
        cpu=np.array([[0.5, 1.0], [1.0, 2.0]]),
        memory=np.array([[1.0, 2.0], [0.5, 1.0]]),
        seed=np.array([7, 12_345], np.uint64),
    )


def sender() -> Sender:
    return Sender("http://127.0.0.1:1", meters(), lambda: False)


def test_time_in_slices_gives_the_samples_of_time_in_one(caught: Caught) -> None:
    whole = Caught()
    sender().send(START, START + 3 * HOUR_MS, step=60_000)
    whole.series, caught.series = caught.series, {}
    sliced = sender()
    for first in range(START, START + 3 * HOUR_MS, HOUR_MS // 3):
        sliced.send(first, first + HOUR_MS // 3, step=60_000)
    assert caught.series.keys() == whole.series.keys()
    for name, samples in whole.series.items():
        assert np.allclose(samples, caught.series[name], rtol=1e-9, equal_nan=True)


def test_counters_rise_by_what_is_used_and_end_with_a_marker(caught: Caught) -> None:
    sender().send(START, START + 3 * HOUR_MS, step=60_000)
    samples = caught.series[CPU, "short"]
    times, values = np.array(samples).T
    assert (np.diff(times) > 0).all()
    assert times[0] > START + 30_000
    assert np.isnan(values[-1])
    assert times[-1] == START + 3 * HOUR_MS // 2
    rates = np.diff(values[:-1]) / (np.diff(times[:-1]) / 1000)
    assert ((rates >= 1.0 - 1e-6) & (rates <= 2.0 + 1e-6)).all()
    assert 1.0 <= values[0] / ((times[0] - START - 30_000) / 1000) <= 2.0
    assert not np.isnan(np.array(caught.series[CPU, "long"])[:, 1]).any()
    assert len(caught.series[MEMORY, "short"]) == len(samples)
