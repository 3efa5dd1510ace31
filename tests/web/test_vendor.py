"""Third-party files of the pages are byte for byte what the manifest says, with their licences."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

VENDOR = Path(__file__).parents[2] / "src/seedance/web/static/vendor"
MANIFEST = json.loads((VENDOR / "vendor.json").read_text())
PACKAGES: list[dict[str, Any]] = MANIFEST["packages"]
LISTED = {
    name: checksum
    for package in PACKAGES
    for part in ("files", "licences")
    for name, checksum in package[part].items()
}


def test_every_vendored_file_is_in_the_manifest_and_none_is_missing() -> None:
    there = {path.name for path in VENDOR.iterdir()} - {"vendor.json"}
    assert there == set(LISTED)


@pytest.mark.parametrize("name", sorted(LISTED))
def test_a_vendored_file_has_its_checksum(name: str) -> None:
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == LISTED[name]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package["name"])
def test_a_package_names_version_licence_and_is_in_the_notice(package: dict[str, Any]) -> None:
    assert package["npm"] == f"{package['name']}@{package['version']}"
    assert package["licence"]
    assert package["licences"]
    notice = (Path(__file__).parents[2] / "NOTICE").read_text()
    assert f"{package['name'].removesuffix('.org')} {package['version']}" in notice.lower().replace(
        "apache echarts", "echarts"
    )
