"""Build the real parts of the end-to-end tests once, into a cache outside the checkout.

    python tests/rig/build.py            # `make rig`

Every part comes through its ordinary package client: Go programs from the Go module proxy with
the checksums of `recipes/*/go.sum`, Chromium from the system's packages. What is there is left
alone, so a second run ends at once. A part is built in a folder of its own and renamed into
place when it is whole; two runs at the same time wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from realparts.parts import Part, cache, missing

NO_GO = """\
Go is not installed, and the real parts (etcd, Kubernetes, KWOK, Prometheus) are built with it.
Install Go 1.24 or newer (it fetches the 1.26 that the recipes ask for), so that `go version`
answers, and run `make rig` again. Tests that need the parts are skipped until then."""

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "chromium")


class BuildError(Exception):
    """A part that could not be built; the message says which, and what the tool said."""


def main() -> int:
    """Build what is missing; 0 when everything is there."""
    started = time.monotonic()
    problems = []
    try:
        build_parts()
    except BuildError as error:
        problems.append(str(error))
    problem = install_chromium()
    if problem:
        problems.append(problem)
    for text in problems:
        print(text, file=sys.stderr)
    if not problems:
        print(f"rig: everything is there ({cache()}), {time.monotonic() - started:.1f} s")
    return 1 if problems else 0


def build_parts() -> None:
    """Build every Go part that the cache lacks, one after the other.

    Raises:
        BuildError: if Go is missing or a build fails.
    """
    if not missing():
        return
    if shutil.which("go") is None:
        raise BuildError(NO_GO)
    with _one_at_a_time():
        for part in missing():
            build(part)


def build(part: Part) -> None:
    """Build one part and move it into the cache.

    Raises:
        BuildError: if Go fails; its last lines are in the message.
    """
    print(f"rig: {part.name} {part.version}, about {part.minutes:g} min on 2 cores when cold …")
    started = time.monotonic()
    work = Path(tempfile.mkdtemp(prefix=f".{part.name}-", dir=cache()))
    try:
        recipe = work / "recipe"
        shutil.copytree(part.recipe, recipe)
        _download(part, recipe)
        for name, package in part.programs:
            _compile(part, recipe, package=package, target=work / name)
        _copy_files(part, recipe, work)
        (work / "done").write_text(f"{part.version}\n", encoding="utf-8")
        work.chmod(0o755)
        if part.folder.exists():  # left behind half-made by an older hand
            shutil.rmtree(part.folder)
        work.rename(part.folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"rig: {part.name} {part.version} built in {time.monotonic() - started:.0f} s")


def _download(part: Part, recipe: Path) -> None:
    """Fetch the modules first, so that the network's time is told apart from the compiler's."""
    started = time.monotonic()
    packages = [package for _, package in part.programs]
    _go("list", "-deps", "-e", "-f", "{{.ImportPath}}", *packages, cwd=recipe)
    print(f"rig: {part.name}: modules are here after {time.monotonic() - started:.0f} s")


def _compile(part: Part, recipe: Path, *, package: str, target: Path) -> None:
    """Compile one program, with a line of progress every 15 seconds."""
    total = len(_go("list", "-deps", "-f", "{{.ImportPath}}", package, cwd=recipe).split())
    command = ("go", "build", "-v", "-trimpath", "-ldflags=-s -w", "-o", str(target), package)
    started = shown = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=recipe, env=_environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr or ():
            lines.append(line)
            if time.monotonic() - shown > 15:
                shown = time.monotonic()
                seconds = shown - started
                print(f"rig: {target.name}: {len(lines)} of {total} packages, {seconds:.0f} s")
    if process.returncode:
        raise BuildError(f"{part.name}: {' '.join(command)} failed:\n{''.join(lines[-20:])}")


def _copy_files(part: Part, recipe: Path, work: Path) -> None:
    if not part.files:
        return
    source = Path(_go("list", "-m", "-f", "{{.Dir}}", part.module, cwd=recipe).strip())
    for name in part.files:
        shutil.copyfile(source / name, work / Path(name).name)


def _go(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        ("go", *arguments), cwd=cwd, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"go {' '.join(arguments[:3])} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _environment() -> dict[str, str]:
    """The caller's settings, with the recipe's sums as the only truth and no work space."""
    return {**os.environ, "GOFLAGS": "-mod=readonly", "GOWORK": "off"}


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"rig: waiting for another build in {cache()} …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install_chromium() -> str:
    """Install Chromium where it is missing and we may; the text says what to do where not."""
    if any(shutil.which(name) for name in CHROMIUM):
        return ""
    advice = f"Chromium is missing; the browser tests need it: {' '.join(('sudo', *INSTALL))}"
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return advice
    print("rig: installing Chromium …")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (("apt-get", "update", "--quiet"), INSTALL):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(command)} failed:\n{done.stderr[-2000:]}\n{advice}"
    return ""


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.exit(main())
