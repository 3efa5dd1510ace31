"""How long the client takes from Enter to the prompt: `make bench-cli`.

Serves the small seeded store of the tests on a loopback port and times whole processes, started
one after another, 20 times each; the first of each, which may find cold disk caches, is shown on
its own. Goals on 2 cores: `version` 0.3 s, `cost` 0.8 s.

    python benchmarks/cli.py [--times 20]
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from seed import seed
from seedance.store.store import Store
from serving import AGES, served_store

PROGRAM = Path(sys.executable).with_name("seedancectl")
GOALS = {"version": 0.3, "cost": 0.8}
COMMANDS = {
    "help": ["-h"],
    "version --client": ["version", "--client"],
    "version": ["version"],
    "get pods": ["get", "pods"],
    "cost": ["cost", "--by", "namespace,team", "--window", "7d"],
    "cost -o json": ["cost", "--by", "namespace,team", "--window", "7d", "-o", "json"],
    "explain PriceBook": ["explain", "PriceBook"],
}


def seconds_of(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Wall time of one process, from start to exit, and its CPU time."""
    cpu, began = _cpu(), time.perf_counter()
    subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, env=environment)
    return time.perf_counter() - began, _cpu() - cpu


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(url: str, times: int) -> bool:
    """Print a line for each command; whether the goals were met at the 95th percentile."""
    environment = {**os.environ, "SEEDANCE_SERVER": url}
    print(f"{'command':<20} {'first':>8} {'p50':>8} {'p95':>8} {'cpu':>8} {'goal':>8}")
    met = True
    for name, arguments in COMMANDS.items():
        runs = [seconds_of(arguments, environment) for _ in range(times)]
        first, *rest = [wall for wall, _ in runs]
        cpu = min(used for _, used in runs)
        p95 = statistics.quantiles(rest, n=20)[-1]
        goal = GOALS.get(name)
        met = met and (goal is None or p95 <= goal)
        middle = statistics.median(rest)
        said = f"{goal:.1f} s" if goal else ""
        print(f"{name:<20} {first:6.3f} s {middle:6.3f} s {p95:6.3f} s {cpu:6.3f} s {said:>8}")
    return met


def main() -> int:
    """Serve a seeded store and measure; 1 where a goal was missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=20, help="processes for each command")
    times = parser.parse_args().times
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Store.open(place / "store", retention=AGES, memory_bytes=1 << 30) as store:
            seed(store)
        with served_store(place / "store", place / "tokens.json") as served:
            met = measure(served.url, times)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
