"""The product as a person runs it: `seedance serve` as a process, `seedancectl` as a client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from realparts.network import Network
from realparts.processes import Program

BIN = Path(sys.executable).parent


@dataclass(slots=True)
class Product:
    """One server with its data folder; `start` after `stop` goes on with the same data."""

    folder: Path
    network: Network
    clusters: Mapping[str, Path]
    manifests: Sequence[Path] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    """Environment variables, such as `SEEDANCE_KUBERNETES_SCRAPE`."""
    program: Program = field(init=False)
    url: str = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        port = self.network.port()
        self.url = f"http://127.0.0.1:{port}"
        clusters = [f"--cluster={name}={path}" for name, path in self.clusters.items()]
        manifests = [f"--manifests={path}" for path in self.manifests]
        self.program = Program(
            "seedance",
            [
                BIN / "seedance",
                "serve",
                f"--data={self.folder / 'data'}",
                f"--listen=127.0.0.1:{port}",
                *clusters,
                *manifests,
            ],
            logs=self.folder,
            environment={**self._home(), **self.settings},
        )

    def start(self, *, seconds: float = 60) -> None:
        """Start it and wait until it answers."""
        self.program.start()
        self.program.wait_until(lambda: self.status_of("/healthz") == 200, seconds=seconds)

    def stop(self) -> int:
        """Ask it to end and wait; its exit status."""
        return self.program.stop(seconds=30)

    def kill(self) -> None:
        """End it as a power cut would end the process."""
        self.program.stop(with_signal=signal.SIGKILL)

    def status_of(self, path: str) -> int:
        """The status code of a GET; 0 where nobody answers."""
        try:
            return httpx2.get(self.url + path, timeout=10).status_code
        except httpx2.HTTPError:
            return 0

    def get(self, path: str, **query: str) -> Any:
        """A GET as JSON, also of an answer that is no success."""
        return httpx2.get(self.url + path, params=query, timeout=60).json()

    def ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `seedancectl` against it."""
        environment = {**os.environ, **self._home(), "SEEDANCE_SERVER": self.url}
        return subprocess.run(
            [str(BIN / "seedancectl"), *arguments],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
            check=False,
        )

    def _home(self) -> dict[str, str]:
        """A home of its own, so that nothing of the person who runs the tests matters."""
        return {"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "config")}

    def cost(self, *arguments: str) -> Any:
        """`seedancectl cost … -o json`, whole, as JSON.

        Raises:
            AssertionError: if it ends with another code than 0.
        """
        done = self.ctl("cost", *arguments, "--limit", "0", "-o", "json")
        assert done.returncode == 0, done.stderr + self.program.tail()
        return json.loads(done.stdout)
