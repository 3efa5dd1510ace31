"""Which manifests the stored costs were made with."""

from __future__ import annotations

from datetime import datetime

from seedance.store.statements import statement
from seedance.store.store import Store


def adopted(store: Store) -> str:
    """Fingerprint of the manifests last adopted; "" before the first."""
    rows = store.engine.rows(statement("adopted"))
    return str(rows[0]["value"]) if rows else ""


def put_adopted(store: Store, fingerprint: str, *, now: datetime) -> None:
    """Remembers the fingerprint."""
    store.engine.command(statement("adopt"), {"fingerprint": fingerprint, "now": now})


def currencies(store: Store) -> list[str]:
    """Currencies of the prices that the store holds."""
    return [row["currency"] for row in store.engine.rows(statement("stored_currencies"))]
