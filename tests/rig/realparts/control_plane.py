"""A real Kubernetes control plane: etcd, API server, controllers, scheduler, and KWOK's nodes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from realparts.api import Api, ApiError
from realparts.certificates import Authority, write_signing_key
from realparts.network import Network
from realparts.parts import ETCD, KUBERNETES, KWOK
from realparts.processes import Program

STAGES = Path(__file__).parent.parent / "stages"
ADMIN_TOKEN = "rig-admin"  # a throw-away server's
USAGE_PATH = "/metrics/nodes/{node}/metrics/resource"
"""Where KWOK serves a node's resource metrics; real kubelets have `/metrics/resource`."""
METRICS_PATH_ANNOTATION = "metrics.k8s.io/resource-metrics-path"
"""The annotation of a node by which metrics-server, and the product, learn another path."""


@dataclass(frozen=True, slots=True)
class User:
    """A user of the token file."""

    name: str
    token: str
    groups: tuple[str, ...] = ()


@dataclass(slots=True)
class Speed:
    """How hard the controllers may work; the defaults of Kubernetes are made for shared servers."""

    controllers_per_second: int = 400
    scheduler_per_second: int = 400


@dataclass(slots=True)
class ControlPlane:
    """One control plane in one folder; `start` brings all of it up, `stop` ends all of it."""

    name: str
    folder: Path
    network: Network
    users: tuple[User, ...] = ()
    speed: Speed = field(default_factory=Speed)
    api: Api = field(init=False)
    url: str = field(init=False)
    kubelet_port: int = field(init=False)
    _authority: Authority = field(init=False)
    _programs: dict[str, Program] = field(init=False, default_factory=dict)

    def start(self) -> None:
        """Write what the parts need, start them in order, and wait until the API is ready."""
        self.folder.mkdir(parents=True)
        self._authority = Authority(self.folder)
        self.url = f"https://{self.network.address}:{self.network.port()}"
        self.kubelet_port = self.network.port()
        self._write_tokens()
        self.api = Api(self.url, authority=self._authority.path, token=ADMIN_TOKEN)
        etcd = f"http://127.0.0.1:{self.network.port()}"
        admin = self.kubeconfig("admin", ADMIN_TOKEN)
        key = write_signing_key(self.folder / "accounts.key")
        self._add("etcd", ETCD.program("etcd"), *self._etcd_flags(etcd))
        self._add("kube-apiserver", KUBERNETES.program("kube-apiserver"), *self._api_flags(etcd))
        self._add(
            "kube-controller-manager",
            KUBERNETES.program("kube-controller-manager"),
            *_controller_flags(admin, key, self._authority.path, self.speed, self.network),
        )
        self._add(
            "kube-scheduler",
            KUBERNETES.program("kube-scheduler"),
            *_scheduler_flags(admin, self.speed, self.network),
        )
        self._add("kwok", KWOK.program("kwok"), *self._kwok_flags(admin))
        self.start_server()
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self._programs[name].start()

    def start_server(self) -> None:
        """Start etcd and the API server, and wait until it says that it is ready."""
        self._programs["etcd"].start()
        self._programs["kube-apiserver"].start()
        self._programs["kube-apiserver"].wait_until(self.ready)

    def stop_server(self) -> None:
        """Stop the API server and etcd hard; controllers, scheduler and nodes stay and wait."""
        for name in ("kube-apiserver", "etcd"):
            self._programs[name].stop(seconds=1)

    def stop(self) -> None:
        """Stop everything, last started first."""
        self.api.close()
        for program in reversed(self._programs.values()):
            program.stop(seconds=5)

    def ready(self) -> bool:
        """Whether the API server answers that it is ready."""
        try:
            return self.api.text("GET", "/readyz") == "ok"
        except (ApiError, OSError):
            return False

    def program(self, name: str) -> Program:
        """One of its programs."""
        return self._programs[name]

    def kubeconfig(self, name: str, token: str) -> Path:
        """A kubeconfig for the user with that token."""
        return self.write_kubeconfig(name, {"token": token})

    def certificate(self, name: str, **options: Any) -> dict[str, str]:
        """A client certificate as the `user` part of a kubeconfig."""
        certificate, key = self._authority.client(name, **options)
        return {"client-certificate": str(certificate), "client-key": str(key)}

    def write_kubeconfig(self, name: str, user: dict[str, Any], *, url: str = "") -> Path:
        """A kubeconfig with this `user` part; `url` in place of the server's own."""
        path = self.folder / f"{name}.kubeconfig"
        cluster = {"server": url or self.url, "certificate-authority": str(self._authority.path)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.name,
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": name}}],
        }
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    @property
    def kubelets(self) -> str:
        """Base URL of the nodes' kubelets, without TLS."""
        return f"http://{self.network.address}:{self.kubelet_port}"

    def _add(self, name: str, *arguments: str | Path) -> None:
        self._programs[name] = Program(name, arguments, logs=self.folder)

    def _write_tokens(self) -> None:
        """The token file: token, user, uid, groups."""
        users = (User("admin", ADMIN_TOKEN, ("system:masters",)), *self.users)
        lines = [f'{u.token},{u.name},{u.name},"{",".join(u.groups)}"' for u in users]
        (self.folder / "tokens.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _etcd_flags(self, url: str) -> list[str]:
        peer = f"http://127.0.0.1:{self.network.port()}"
        return [
            f"--name={self.name}",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster={self.name}={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _api_flags(self, etcd: str) -> list[str]:
        certificate, key = self._authority.server(
            "kube-apiserver", self.network.address, "127.0.0.1", "10.0.0.1"
        )
        accounts = self.folder / "accounts.key"
        return [
            f"--etcd-servers={etcd}",
            f"--secure-port={self.url.rsplit(':', 1)[1]}",
            f"--bind-address={self.network.address}",
            f"--advertise-address={self.network.address}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self._authority.path}",
            f"--service-account-key-file={accounts}",
            f"--service-account-signing-key-file={accounts}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--max-requests-inflight=1000",
            "--max-mutating-requests-inflight=1000",
        ]

    def _kwok_flags(self, kubeconfig: Path) -> list[str]:
        certificate, key = self._authority.server("kubelet", self.network.address)
        stages = (*sorted(KWOK.folder.glob("*.yaml")), *sorted(STAGES.glob("*.yaml")))
        return [
            f"--kubeconfig={kubeconfig}",
            "--manage-all-nodes",
            f"--node-ip={self.network.address}",
            f"--node-port={self.kubelet_port}",
            f"--server-address={self.network.address}:{self.kubelet_port}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            "--node-lease-duration-seconds=40",
            *(f"--config={path}" for path in stages),
        ]


def _controller_flags(
    kubeconfig: Path, key: Path, authority: Path, speed: Speed, network: Network
) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--service-account-private-key-file={key}",
        f"--root-ca-file={authority}",
        "--use-service-account-credentials=false",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={network.port()}",
        f"--kube-api-qps={speed.controllers_per_second}",
        f"--kube-api-burst={speed.controllers_per_second}",
        "--concurrent-deployment-syncs=10",
        "--concurrent-replicaset-syncs=10",
    ]


def _scheduler_flags(kubeconfig: Path, speed: Speed, network: Network) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={network.port()}",
        f"--kube-api-qps={speed.scheduler_per_second}",
        f"--kube-api-burst={speed.scheduler_per_second}",
    ]
