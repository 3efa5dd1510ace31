"""The remote-write door over a real server: status codes, headers, texts, and what is stored."""

from __future__ import annotations

import resource
import struct
import time
from datetime import timedelta

import cramjam
import pytest
from doors import Door, Open, T, written

from remote_write_messages import WriteRequest, body, message, named, pack, series
from seedance.facts.limits import Limits
from seedance.intake import remotewrite
from seedance.store.samples import all_series

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
