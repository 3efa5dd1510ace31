from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance.facts.errors import UsageError
from seedance.facts.window import Window
from seedance.facts.windowwords import WORDS, midnight, parse_window, parse_zone

NOW = datetime(2026, 11, 30, 12, 34, 56, tzinfo=UTC)  # a Monday


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("today", "2026-11-30T00:00", "2026-11-30T12:34"),
        ("yesterday", "2026-11-29T00:00", "2026-11-30T00:00"),
        ("week", "2026-11-30T00:00", "2026-11-30T12:34"),
        ("lastweek", "2026-11-23T00:00", "2026-11-30T00:00"),
        ("month", "2026-11-01T00:00", "2026-11-30T12:34"),
        ("lastmonth", "2026-10-01T00:00", "2026-11-01T00:00"),
        ("30m", "2026-11-30T12:04", "2026-11-30T12:34"),
        ("12h", "2026-11-30T00:34", "2026-11-30T12:34"),
        ("7d", "2026-11-24T00:00", "2026-11-30T12:34"),
        ("1d", "2026-11-30T00:00", "2026-11-30T12:34"),
        ("2w", "2026-11-17T00:00", "2026-11-30T12:34"),
        ("2026-11-01,2026-11-08", "2026-11-01T00:00", "2026-11-08T00:00"),
        ("2026-11-01T06:00:00Z,2026-11-01T07:30:00+01:00", "2026-11-01T06:00", "2026-11-01T06:30"),
        ("2026-11-30,2026-12-05", "2026-11-30T00:00", "2026-11-30T12:34"),
    ],
)
def test_words_in_utc(words: str, start: str, end: str) -> None:
    assert parse_window(words, now=NOW) == Window(utc(start), utc(end))


@pytest.mark.parametrize(
    ("words", "zone", "start", "end"),
    [
        ("today", "Asia/Kolkata", "2026-11-29T18:30", "2026-11-30T12:34"),
        ("yesterday", "America/New_York", "2026-11-29T05:00", "2026-11-30T05:00"),
        ("month", "Asia/Shanghai", "2026-10-31T16:00", "2026-11-30T12:34"),
        ("2026-11-01,2026-11-02", "Europe/Berlin", "2026-10-31T23:00", "2026-11-01T23:00"),
    ],
)
def test_days_are_the_zones(words: str, zone: str, start: str, end: str) -> None:
    assert parse_window(words, now=NOW, zone=zone) == Window(utc(start), utc(end))


def test_a_day_has_25_hours_where_clocks_go_back() -> None:
    now = datetime(2026, 10, 26, 12, tzinfo=UTC)
    window = parse_window("yesterday", now=now, zone="Europe/Berlin")
    assert window.seconds == 25 * 3600


def test_lastmonth_in_january_is_december() -> None:
    window = parse_window("lastmonth", now=datetime(2027, 1, 31, 1, tzinfo=UTC))
    assert (window.start, window.end) == (utc("2026-12-01"), utc("2027-01-01"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("lastyear", "not known"),
        ("", "not known"),
        ("0d", "not known"),
        ("-7d", "not known"),
        ("7 d", "not known"),
        ("99999d", "ten years"),
        ("2010-01-01,2026-01-01", "ten years"),
        ("2026-11-08,2026-11-01", "reversed"),
        ("2026-11-08,2026-11-08", "reversed or empty"),
        ("2026-12-01,2026-12-08", "future"),
        ("2026-11-01T00:00:00,2026-11-02T00:00:00", "offset"),
        ("yesterday,today", "no instant"),
        ("2026-13-01,2026-14-01", "no instant"),
        (",", "no instant"),
    ],
)
def test_what_makes_no_sense_is_said(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        parse_window(words, now=NOW)
    assert caught.value.hint


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "/etc/passwd", "x" * 300])
def test_an_unknown_zone_is_named(zone: str) -> None:
    with pytest.raises(UsageError, match="zone"):
        parse_zone(zone)


@given(
    now=st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1)).map(  # noqa: DTZ001
        lambda at: at.replace(tzinfo=UTC)
    ),
    words=st.sampled_from(WORDS),
    zone=st.sampled_from(["UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Chatham"]),
)
def test_windows_are_whole_minutes_and_end_by_now(now: datetime, words: str, zone: str) -> None:
    window = parse_window(words, now=now, zone=zone)
    for edge in (window.start, window.end):
        assert edge.second == edge.microsecond == 0
    assert window.start < window.end <= now + timedelta(minutes=1)


def test_midnight_follows_the_calendar() -> None:
    zone = parse_zone("Europe/Berlin")
    assert midnight(utc("2026-10-24T22:30"), zone, days=1) == utc("2026-10-25T23:00")
