"""Prometheus as an agent: finds KWOK's nodes by itself, scrapes them and remote-writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from realparts.network import Network
from realparts.parts import PROMETHEUS
from realparts.processes import Program


@dataclass(slots=True)
class Prometheus:
    """One agent that sends to `write_url`, with `cluster` as the external label of that name."""

    folder: Path
    network: Network
    kubelets: str
    write_url: str
    cluster: str
    scrape_seconds: int = 5
    program: Program = field(init=False)
    url: str = field(init=False)

    def start(self) -> None:
        """Write its settings and start it."""
        self.folder.mkdir(parents=True)
        path = self.folder / "prometheus.yml"
        path.write_text(yaml.safe_dump(self._settings()), encoding="utf-8")
        self.url = f"http://127.0.0.1:{self.network.port()}"
        self.program = Program(
            "prometheus",
            [
                PROMETHEUS.program("prometheus"),
                "--agent",
                f"--config.file={path}",
                f"--storage.agent.path={self.folder / 'agent'}",
                f"--web.listen-address={self.url.removeprefix('http://')}",
                "--log.level=warn",
            ],
            logs=self.folder,
        )
        self.program.start()

    def stop(self) -> None:
        """Stop it; it sends what it still holds as far as it can."""
        self.program.stop()

    def _settings(self) -> dict[str, object]:
        discovery = {"url": f"{self.kubelets}/discovery/prometheus", "refresh_interval": "5s"}
        return {
            "global": {
                "scrape_interval": f"{self.scrape_seconds}s",
                "scrape_timeout": f"{self.scrape_seconds}s",
                "external_labels": {"cluster": self.cluster},
            },
            "scrape_configs": [{"job_name": "kubelet", "http_sd_configs": [discovery]}],
            "remote_write": [
                {
                    "url": self.write_url,
                    "queue_config": {"batch_send_deadline": "1s", "max_backoff": "1s"},
                }
            ],
        }
