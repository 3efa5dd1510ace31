"""The status of a sample server: one part ill, one kind forbidden, one kubelet silent."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from seedance.facts.window import floor_hour
from seedance.flows.reporting import answers as a


def status(now: datetime) -> a.StatusAnswer:
    return a.StatusAnswer(
        version="0.1.0",
        at=now,
        started=now - timedelta(days=3),
        ready=False,
        health=[
            a.Health(name="recorder", healthy=True),
            a.Health(name="watch prod", healthy=True),
            a.Health(name="watch dev", healthy=False, reason="403: cronjobs is forbidden"),
            a.Health(name="settle", healthy=True),
        ],
        recorder=_recorder(),
        watches=_watches(),
        scrapes=_scrapes(),
        sources={"remote-write": 12_004, "kubelet": 2_018},
        settles=[
            a.SettleOf(
                cluster=f"4f1c2d9e-{name}",
                cluster_name=name,
                hour=floor_hour(now),
                ended=now - timedelta(seconds=50),
                seconds=0.31,
                rows=4012,
                provisional=True,
                violations=0,
                lag_seconds=50,
            )
            for name in ("prod", "dev")
        ],
        store=[
            a.TableSize(name="samples", rows=48_000_000, bytes=412_000_000),
            a.TableSize(name="cost_hours", rows=1_204_331, bytes=41_000_000),
            a.TableSize(name="usage_minutes", rows=804_331, bytes=98_000_000),
            a.TableSize(name="objects", rows=6_120, bytes=2_100_000),
        ],
        manifests={"books": ["list-prices"], "rules": [], "fingerprint": "9f31c0aa"},
    )


def _watches() -> list[dict[str, Any]]:
    kinds = ("Node", "Namespace", "Pod", "Deployment", "StatefulSet", "Job")
    watch = {
        "cluster_name": "prod",
        "healthy": True,
        "kinds": [
            {
                "kind": kind,
                "synced": True,
                "refused": False,
                "objects": 12 * (n + 1),
                "last_event": "2026-11-30T20:13:41Z",
                "error": "",
            }
            for n, kind in enumerate(kinds)
        ],
    }
    broken = {
        "cluster_name": "dev",
        "healthy": False,
        "kinds": [
            {"kind": "Pod", "synced": True, "objects": 61, "last_event": "2026-11-30T20:13:58Z"},
            {"kind": "Job", "synced": False, "objects": 12, "error": "no answer for 40 s"},
            {
                "kind": "CronJob",
                "synced": False,
                "refused": True,
                "objects": 0,
                "error": "cronjobs is forbidden",
            },
        ],
    }
    return [watch, broken]


def _recorder() -> dict[str, Any]:
    return {
        "healthy": True,
        "reason": "",
        "samples_per_second": 1843.2,
        "samples": 48_213_004,
        "queue_rows": 812,
        "queue_age_s": 0.4,
        "series": 14_022,
        "log_bytes": 8_388_608,
        "last_flush": "2026-11-30T20:13:59Z",
        "rejected": {"too-old": 12, "out-of-order": 3},
    }


def _scrapes() -> list[dict[str, Any]]:
    return [
        {
            "cluster_name": "dev",
            "healthy": True,
            "reason": "",
            "covered": 6,
            "nodes": [
                {
                    "node": f"dev-m6i-{n}",
                    "last_success": "2026-11-30T20:13:50Z",
                    "samples": 118 + n,
                    "error": "timed out after 10 s" if n == 2 else "",
                    "failures": 3 if n == 2 else 0,
                    "next_try": None,
                }
                for n in range(4)
            ],
            "last_round": "2026-11-30T20:13:50Z",
            "round_seconds": 0.8,
        }
    ]
