"""The reference of remote write says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from seedance.facts.limits import Limits
from seedance.facts.rejections import Rejection
from seedance.web.receive import _ANSWERS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "remote-write.md").read_text("utf-8")


def test_every_reason_is_documented() -> None:
    section = PAGE.partition("## What is rejected")[2]
    named = {word for row in section.splitlines() for word in re.findall(r"`([a-z0-9-]+)`", row)}
    assert {reason.value for reason in Rejection} <= named


def test_every_status_is_documented() -> None:
    statuses = {
        int(found)
        for row in re.findall(r"^\| ([\d, ]+) \|", PAGE, re.MULTILINE)
        for found in row.split(",")
    }
    assert set(_ANSWERS) | {401, 403} == statuses


def test_every_limit_is_documented_as_it_is() -> None:
    limits = Limits()
    for number in (
        limits.labels,
        limits.label_name_bytes,
        limits.label_value_bytes,
        limits.label_set_bytes,
        limits.series,
        limits.queue_rows,
    ):
        assert f"{number:,}" in PAGE
    assert f"{limits.body_bytes >> 20} MiB" in PAGE
    assert f"{limits.flight_bytes >> 20} MiB" in PAGE
    assert f"{limits.future.seconds // 60} minutes ahead" in PAGE
    assert f"({limits.retention.days} days)" in PAGE
