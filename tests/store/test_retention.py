import re
from dataclasses import asdict
from pathlib import Path

import pytest

from seedance.facts.errors import RefusedError
from seedance.store.admin import TABLES
from seedance.store.store import Retention, Store, retain

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "retention.md"
TOLD = Retention(raw_days=101, minute_days=211, hour_days=307, day_days=401)


def table_rows(width: int) -> list[list[str]]:
    lines = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if "`" in line)
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line)
    return [row for row in cells if len(row) == width]


def days_of(words: str) -> set[int]:
    """Days that the page's last column names, for the retention `TOLD`."""
    more = re.search(r"\+ (\d+)", words)
    settings = asdict(TOLD)
    return {
        settings[name] + (int(more[1]) if more else 0) for name in re.findall(r"`(\w+)`", words)
    }


def days_in(create: str) -> set[int]:
    """Days that a table's TTL counts, as ClickHouse keeps it."""
    _, _, ttl = create.partition(" TTL ")
    text = ttl.partition(" SETTINGS ")[0]
    sums = re.findall(r"toIntervalDay\(\D*(\d+)[^+)]*\)?(?:\s*\+ (\d+))?", text)
    return {int(first) + int(second or 0) for first, second in sums}


def test_the_page_says_what_the_tables_do(store: Store) -> None:
    retain(store.engine, TOLD)
    created = {
        row["name"]: row["create_table_query"]
        for row in store.engine.rows(
            "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase()"
        )
    }
    page = {row[0].strip("`"): days_of(row[3]) for row in table_rows(4)}
    assert page == {name: days_in(create) for name, create in created.items()}
    assert set(page) == set(TABLES)


def test_the_page_names_the_defaults() -> None:
    page = {row[0].strip("`"): int(row[1]) for row in table_rows(2)}
    assert page == asdict(Retention())


@pytest.mark.parametrize("days", [0, -1, 15_001])
def test_a_retention_that_would_overflow_is_refused(days: int) -> None:
    with pytest.raises(RefusedError, match="give 1 to 15000 days"):
        Retention(raw_days=days)
