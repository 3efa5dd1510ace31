"""Exec plugins: programs that hand out credentials, as kubeconfigs name them.

The flow: the `exec` entry → run the command with `KUBERNETES_EXEC_INFO` → an `ExecCredential`
with a token or a client certificate and the instant at which it ends. Never asks anyone anything:
its standard input is closed.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from seedance.facts.errors import UnreachableError, UsageError
from seedance.facts.window import parse_instant

_GROUP = "client.authentication.k8s.io/"
_VERSIONS = frozenset({f"{_GROUP}v1", f"{_GROUP}v1beta1", f"{_GROUP}v1alpha1"})
_PATIENCE = 60.0  # seconds; cloud plugins call out to an identity service
_MARGIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """What a plugin handed out; `expires` is a little before it ends, None if it never does."""

    token: str
    certificate: str
    key: str
    expires: datetime | None


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that hands out credentials: command line, environment and what it is told."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    version: str
    install_hint: str

    @classmethod
    def read(
        cls, entry: Mapping[str, Any], *, cluster: Mapping[str, Any], folder: Path
    ) -> ExecPlugin:
        """The plugin of a kubeconfig's `exec` entry; a relative path starts at the file's folder.

        Raises:
            UsageError: if it has no command or speaks a version of the protocol that is not known.
        """
        version, command = entry.get("apiVersion") or "", entry.get("command") or ""
        if version not in _VERSIONS:
            raise UsageError(
                f"the exec plugin {command!r} speaks {version!r}",
                hint=f"its apiVersion must be one of {', '.join(sorted(_VERSIONS))}",
            )
        if not command:
            raise UsageError("the exec entry of the kubeconfig has no command")
        if "/" in command and not command.startswith("/"):
            command = str(folder / command)
        variables = {pair["name"]: pair["value"] for pair in entry.get("env") or []}
        spec: dict[str, Any] = {"interactive": False}
        if entry.get("provideClusterInfo"):
            spec["cluster"] = dict(cluster)
        told = {"kind": "ExecCredential", "apiVersion": version, "spec": spec}
        return cls(
            command=(command, *(str(argument) for argument in entry.get("args") or [])),
            environment={**variables, "KUBERNETES_EXEC_INFO": json.dumps(told)},
            version=version,
            install_hint=entry.get("installHint") or "",
        )

    async def run(self) -> ExecCredential:
        """Run it and read what it prints.

        Raises:
            UsageError: if there is no such program, or what it prints is no credential.
            UnreachableError: if it fails or takes longer than a minute.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                env={**os.environ, **self.environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise UsageError(
                f"cannot run the exec plugin {self.command[0]!r}: {error}", hint=self.install_hint
            ) from None
        try:
            printed, said = await asyncio.wait_for(process.communicate(), _PATIENCE)
        except TimeoutError:
            raise UnreachableError(
                f"the exec plugin {self.command[0]!r} took longer than {_PATIENCE:.0f} s"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            words = said.decode(errors="replace").strip()[-300:]
            raise UnreachableError(
                f"the exec plugin {self.command[0]!r} left with {process.returncode}: {words}"
            )
        return self._credential(printed)

    def _credential(self, printed: bytes) -> ExecCredential:
        try:
            status = json.loads(printed)["status"]
            ends = status.get("expirationTimestamp")
            credential = ExecCredential(
                token=status.get("token") or "",
                certificate=status.get("clientCertificateData") or "",
                key=status.get("clientKeyData") or "",
                expires=parse_instant(ends) - _MARGIN if ends else None,
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"what the exec plugin {self.command[0]!r} printed is no ExecCredential"
            ) from None
        if not credential.token and not credential.certificate:
            raise UsageError(f"the exec plugin {self.command[0]!r} handed out no credentials")
        return credential
