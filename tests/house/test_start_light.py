"""The client starts light and installs small."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import seedance

SERVER_LIBRARIES = {"chdb", "clickhouse_connect", "fastapi", "numpy", "lightkube", "uvicorn"}
SLOW_LIBRARIES = {"pydantic", "rich", "httpx2", "yaml", "pygments"}
LIMIT_MB = 25


def modules_after(code: str) -> set[str]:
    """Top-level modules of a fresh interpreter after `code`."""
    said = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    ended = subprocess.run(
        [sys.executable, "-c", said], capture_output=True, text=True, check=True, timeout=60
    )
    return set(ended.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import seedance.cli.main, seedance.cli.app",
        "from seedance.cli.main import run; run(['version', '--client'])",
        "from seedance.cli.main import run; run(['cost', '-h'])",
        "from seedance.cli.main import run; run(['cost', '--server', 'http://127.0.0.1:1'])",
        "from seedance.cli.main import run; run(['explain', 'PriceBook'])",
    ],
)
def test_the_client_pulls_no_server_library(code: str) -> None:
    assert modules_after(code) & SERVER_LIBRARIES == set()


@pytest.mark.parametrize("arguments", [["version", "--client"], ["-h"], ["get", "-h"]])
def test_what_needs_no_server_starts_without_slow_libraries(arguments: list[str]) -> None:
    code = f"from seedance.cli.main import run; run({arguments!r})"
    assert modules_after(code) & SLOW_LIBRARIES == set()


def test_asking_the_server_needs_no_pydantic() -> None:
    code = "from seedance.cli.main import run; run(['cost', '--server', 'http://127.0.0.1:1'])"
    assert modules_after(code) & {"pydantic", "rich", "pygments"} == set()


def client_distributions() -> set[str]:
    """Names of what `pip install seedance` brings, from the metadata of what is installed."""
    found: set[str] = set()
    waiting = ["seedance"]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        found.add(name)
        for text in metadata.requires(name) or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                waiting.append(wanted.name)
    return found


def size_of(name: str) -> int:
    """Bytes of the files of an installed distribution; bytecode is made later, so not counted."""
    files = metadata.distribution(name).files or ()
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


def test_the_client_installs_within_its_size() -> None:
    names = client_distributions()
    assert {"typer", "pydantic", "httpx2", "pyyaml"} <= names
    assert not names & {"chdb", "numpy", "fastapi", "uvicorn", "lightkube"}
    ours = [path for path in Path(seedance.__file__).parent.rglob("*") if path.suffix != ".pyc"]
    sizes = {name: size_of(name) for name in names - {"seedance"}}
    sizes["seedance"] = sum(path.stat().st_size for path in ours if path.is_file())
    total = sum(sizes.values()) / 1e6
    assert total <= LIMIT_MB, sorted(sizes.items(), key=lambda item: -item[1])[:5]
