from seedance.store.store import Store


def test_a_new_store_has_every_table(store: Store) -> None:
    assert {"samples", "objects", "cost_hours", "meta"} <= set(store.size())
