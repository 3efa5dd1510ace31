"""Adopting manifests: an edit of prices or rules settles the open month anew.

Months that are over stay as they were settled: what was reported stays true. The month that runs
is open, so its hours are marked dirty and the settling clock takes them up, a few at a time.
"""

from __future__ import annotations

from datetime import UTC, datetime

from seedance.facts.window import HOUR, Window, floor_hour
from seedance.manifests.load import Manifests, check_store_currency
from seedance.store.adopted import adopted, currencies, put_adopted
from seedance.store.objects import clusters
from seedance.store.settles import mark_dirty
from seedance.store.store import Store


def adopt(store: Store, manifests: Manifests, *, now: datetime) -> int:
    """Makes `manifests` those that the store is settled with; the number of hours marked dirty.

    Adopting the same content again does nothing.

    Raises:
        ManifestError: the books are in another currency than the costs that the store holds.
    """
    check_store_currency(manifests, currencies(store))
    before = adopted(store)
    if before == manifests.fingerprint:
        return 0
    marked = 0
    month = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for cluster in clusters(store) if before else ():
        first = max(month, floor_hour(cluster.first_seen))
        if first > now:
            continue
        hours = list(Window(first, floor_hour(now) + HOUR).hours())
        mark_dirty(store, cluster.id, hours, reason="manifests", now=now)
        marked += len(hours)
    put_adopted(store, manifests.fingerprint, now=now)
    return marked
