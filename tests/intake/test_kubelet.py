"""A kubelet's resource metrics become samples of real containers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seedance.facts.errors import IntakeError
from seedance.facts.limits import Limits
from seedance.intake.decoded import Decoded, Decoder
from seedance.intake.kubelet import decode, wrap
from seedance.intake.labelset import LabelSet, read_labels

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
MS = 1796040000000

TEXT = """\
# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="app",namespace="shop",pod="w-0"} 4.710169 1796039990123
container_cpu_usage_seconds_total{container="proxy",namespace="shop",pod="w-0"} 1.5e+06
container_cpu_usage_seconds_total{container="POD",namespace="shop",pod="w-0"} 1 1796039990123
container_cpu_usage_seconds_total{container="",namespace="shop",pod="w-0"} 1 1796039990123
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="app",namespace="shop",pod="w-0"} 13594 1796039990123
container_start_time_seconds{container="app",namespace="shop",pod="w-0"} 1.7960e+09
container_swap_usage_bytes{container="app",namespace="shop",pod="w-0"} 0 1796039990123
node_cpu_usage_seconds_total 357.35491 1796039990999
pod_cpu_usage_seconds_total{namespace="shop",pod="w-0"} 6 1796039990123
resource_scrape_error 0
"""


def decoded(text: str, *, node: str = "n0") -> Decoded:
    return decode(wrap(text.encode(), cluster="c-1", node=node, at=AT), AT, ())


def labels(key: bytes) -> LabelSet:
    found = read_labels(key, Limits())
    assert isinstance(found, LabelSet)
    return found


def test_only_use_of_real_containers_is_read() -> None:
    found = decoded(TEXT)
    samples = [
        (labels(key).metric, dict(labels(key).labels)["container"], ts, value)
        for key, ts, value in zip(found.keys, found.ts.tolist(), found.value.tolist(), strict=True)
    ]
    assert samples == [
        ("container_cpu_usage_seconds_total", "app", 1796039990123, 4.710169),
        ("container_cpu_usage_seconds_total", "proxy", MS, 1.5e6),
        ("container_memory_working_set_bytes", "app", 1796039990123, 13594.0),
    ]
    assert found.counts.tolist() == [1, 1, 1]
    assert dict(labels(found.keys[0]).labels) == {
        "container": "app",
        "namespace": "shop",
        "pod": "w-0",
        "node": "n0",
    }


def test_it_is_a_decoder_that_gives_the_same_for_the_same_body() -> None:
    decoder: Decoder = decode
    body = wrap(TEXT.encode(), cluster="c-1", node="n0", at=AT)
    one, two = decoder(body, AT, ()), decoder(body, AT.replace(year=2027), set())
    assert list(one.keys) == list(two.keys)
    assert one.ts.tolist() == two.ts.tolist()


def test_a_clock_that_runs_ahead_is_not_believed() -> None:
    line = 'container_cpu_usage_seconds_total{container="a",namespace="n",pod="p"} 1 %d\n'
    assert decoded(line % (MS + 3_600_000)).ts.tolist() == [MS]
    assert decoded(line % (MS + 30_000)).ts.tolist() == [MS + 30_000]
    assert decoded(line % (MS - 30_000)).ts.tolist() == [MS - 30_000]


def test_odd_but_legal_text_is_read() -> None:
    text = (
        "\n"
        'container_memory_working_set_bytes{ pod="p" , namespace="n",'
        'container="a\\"}\\\\\\n\u2028", }  7\n'
        'container_memory_working_set_bytes{container="b",namespace="n",pod="p",extra=""}\t8\t5\n'
    )
    found = decoded(text)
    assert found.value.tolist() == [7.0, 8.0]
    assert dict(labels(found.keys[0]).labels)["container"] == 'a"}\\\n\u2028'
    assert "extra" not in dict(labels(found.keys[1]).labels)


def test_nothing_is_no_error() -> None:
    line = 'container_memory_working_set_bytes{container="a",namespace="n",pod="p"}'
    assert decoded("").ts.tolist() == []
    assert decoded(f"{line} NaN\n{line} +Inf\n{line} 1\r\n").value.tolist() == [1.0]
    assert decoded("# only a comment\n").keys == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<html>no such page</html>", "line 1 of n0's metrics is none: '<html>"),
        ('container_cpu_usage_seconds_total{container="a" 1', "is none"),
        (
            'container_cpu_usage_seconds_total{container="a",namespace="n",pod="p"} much',
            "line 1: 'much' is no number",
        ),
    ],
)
def test_what_is_no_exposition_text_is_refused(text: str, words: str) -> None:
    with pytest.raises(IntakeError, match=words):
        decoded(text)


@pytest.mark.parametrize("body", [b"", b"c\0n\0", b"c\0n\0soon\0x 1", b"c\0\xff\0001\0x 1"])
def test_a_body_without_its_header_is_refused(body: bytes) -> None:
    with pytest.raises(IntakeError, match="no body of kubelet metrics"):
        decode(body, AT, ())
