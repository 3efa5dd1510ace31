"""The real parts: their versions, recipes and the folder of the cache each is built into.

A recipe is a `go.mod` and a `go.sum` beside this file's folder (`recipes/NAME`), so that every
module a part is built from is pinned by its checksum. The folder of a part in the cache carries
its version and a hash of the recipe: a changed recipe is another folder, an unchanged one is
found again whoever made it. `build.py` fills the cache, tests only look into it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

RECIPES = Path(__file__).parent.parent / "recipes"


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to build: `programs` maps the file's name to its Go package.

    `files` are data files of `module` that are copied beside the programs, because the program
    does not carry them. `minutes` is what a cold build took on two cores.
    """

    name: str
    version: str
    programs: tuple[tuple[str, str], ...]
    minutes: float
    module: str = ""
    files: tuple[str, ...] = ()

    @property
    def recipe(self) -> Path:
        """Folder of the part's `go.mod` and `go.sum`."""
        return RECIPES / self.name

    @property
    def folder(self) -> Path:
        """Where the built part lies, whether it is there or not."""
        digest = hashlib.sha256()
        for name in ("go.mod", "go.sum"):
            digest.update((self.recipe / name).read_bytes())
        digest.update(repr((self.programs, self.files)).encode())
        return cache() / f"{self.name}-{self.version}-{digest.hexdigest()[:12]}"

    @property
    def built(self) -> bool:
        """Whether the part is there, whole."""
        return (self.folder / "done").exists()

    def program(self, name: str) -> Path:
        """Path of one built program."""
        return self.folder / name


ETCD = Part("etcd", "3.7.3", (("etcd", "go.etcd.io/etcd/server/v3"),), 0.5)
KUBERNETES = Part(
    "kubernetes",
    "1.37.2",
    tuple(
        (name, f"k8s.io/kubernetes/cmd/{name}")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    ),
    8,
)
KWOK = Part(
    "kwok",
    "0.8.0",
    (("kwok", "sigs.k8s.io/kwok/cmd/kwok"),),
    1.5,
    module="sigs.k8s.io/kwok",
    files=(
        "kustomize/stage/node/fast/node-initialize.yaml",
        "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
        "kustomize/metrics/usage/usage-from-annotation.yaml",
    ),
)
PROMETHEUS = Part(
    "prometheus",
    "3.16.0",
    (("prometheus", "github.com/prometheus/prometheus/cmd/prometheus"),),
    6,
)
PARTS = (ETCD, KWOK, PROMETHEUS, KUBERNETES)


def cache() -> Path:
    """Folder of everything built: `SEEDANCE_RIG`, else `seedance-rig` in the user's cache."""
    chosen = os.environ.get("SEEDANCE_RIG")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seedance-rig"


def missing() -> list[Part]:
    """The parts that are not built."""
    return [part for part in PARTS if not part.built]
