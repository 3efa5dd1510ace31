"""Fixtures of the real parts; tests that need parts which are not built are skipped by name."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from realparts.control_plane import ControlPlane
from realparts.network import Network, own_network
from realparts.parts import missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    absent = ", ".join(part.name for part in missing())
    if not absent:
        return
    skip = pytest.mark.skip(reason=f"{absent} not built: run `make rig`")
    for item in items:
        if item.get_closest_marker("rig") and not _must_have_parts():
            item.add_marker(skip)


def _must_have_parts() -> bool:
    """In a CI run a missing part is a failure: nothing there is skipped without a word."""
    return os.environ.get("CI", "").lower() in ("1", "true")


@pytest.fixture(scope="package")
def network() -> Iterator[Network]:
    """A network of the rig's own for as long as its tests run."""
    absent = [part.name for part in missing()]
    if absent:
        pytest.fail(f"{', '.join(absent)} not built: run `make rig`")
    with own_network() as net:
        yield net


@pytest.fixture(scope="module")
def small_cluster(
    network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """One control plane without nodes."""
    plane = ControlPlane("small", tmp_path_factory.mktemp("small") / "plane", network)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()
