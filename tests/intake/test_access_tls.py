"""TLS to an API server: authorities, server names, client certificates of files and plugins."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fake_api import NAMESPACES, FakeApi
from seedance.facts.errors import UnreachableError, UsageError
from seedance.intake.access import Source, open_access
from seedance.intake.kubernetes import Connection

WHO = f"{NAMESPACES}/kube-system"


class Authority:
    """Signs certificates for as long as a test runs."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        self.text = self._sign(self.name, self.key, authority=True)

    def issue(self, name: str) -> tuple[str, str]:
        """Certificate and key as PEM, for one DNS name."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
        return self._sign(subject, key, name), private

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        name: str = "",
        *,
        authority: bool = False,
    ) -> str:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if name:
            names = x509.SubjectAlternativeName([x509.DNSName(name)])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def api(authority: Authority, tmp_path: Path) -> AsyncIterator[FakeApi]:
    """A server that calls itself kube.internal and wants a client certificate."""
    certificate, key = authority.issue("kube.internal")
    path = tmp_path / "server.pem"
    path.write_text(certificate + key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path)
    tls.load_verify_locations(cadata=authority.text)
    tls.verify_mode = ssl.CERT_REQUIRED
    async with FakeApi(tls=tls) as running:
        yield running


def trusting(authority: Authority, **more: Any) -> dict[str, Any]:
    data = base64.b64encode(authority.text.encode()).decode()
    return {"certificate-authority-data": data, "tls-server-name": "kube.internal", **more}


def certified(authority: Authority) -> dict[str, Any]:
    certificate, key = authority.issue("seedance")
    return {
        "token": "good",
        "client-certificate-data": base64.b64encode(certificate.encode()).decode(),
        "client-key-data": base64.b64encode(key.encode()).decode(),
    }


async def test_a_server_is_known_by_the_name_that_the_kubeconfig_gives(
    api: FakeApi, authority: Authority, tmp_path: Path
) -> None:
    path = api.kubeconfig(tmp_path, user=certified(authority), cluster=trusting(authority))
    connection = Connection(Source(path))
    assert (await connection.get_json(WHO))["metadata"]["uid"] == api.cluster
    await connection.close()


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ({"tls-server-name": "other.internal"}, "CERTIFICATE_VERIFY_FAILED"),
        ({"certificate-authority-data": None}, "CERTIFICATE_VERIFY_FAILED"),
    ],
)
async def test_a_server_that_is_not_who_it_says_is_not_believed(
    api: FakeApi, authority: Authority, tmp_path: Path, odd: dict[str, Any], words: str
) -> None:
    cluster = trusting(authority, **odd)
    path = api.kubeconfig(tmp_path, user=certified(authority), cluster=cluster)
    with pytest.raises(UnreachableError, match=words):
        await Connection(Source(path)).get_json(WHO)


async def test_insecure_means_insecure(api: FakeApi, authority: Authority, tmp_path: Path) -> None:
    cluster = {"insecure-skip-tls-verify": True}
    connection = Connection(
        Source(api.kubeconfig(tmp_path, user=certified(authority), cluster=cluster))
    )
    assert await connection.get_json(WHO)
    await connection.close()


async def test_a_plugin_may_hand_out_a_client_certificate(
    api: FakeApi, authority: Authority, tmp_path: Path
) -> None:
    certificate, key = authority.issue("seedance")
    status = {"token": "good", "clientCertificateData": certificate, "clientKeyData": key}
    credential = tmp_path / "credential.json"
    credential.write_text(json.dumps({"kind": "ExecCredential", "status": status}))
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "cat",
            "args": [str(credential)],
        }
    }
    path = api.kubeconfig(tmp_path, user=user, cluster=trusting(authority))
    connection = Connection(Source(path))
    assert await connection.get_json(WHO)
    await connection.close()


async def test_a_certificate_that_rotates_makes_new_connections(
    api: FakeApi, authority: Authority, tmp_path: Path
) -> None:
    path = api.kubeconfig(tmp_path, user=certified(authority), cluster=trusting(authority))
    before = await open_access(Source(path))
    again = await open_access(Source(path))
    renewed = api.kubeconfig(tmp_path, user=certified(authority), cluster=trusting(authority))
    after = await open_access(Source(renewed))
    assert before.transport == again.transport != after.transport


async def test_a_certificate_that_is_none_is_named(api: FakeApi, tmp_path: Path) -> None:
    junk = base64.b64encode(b"junk").decode()
    path = api.kubeconfig(tmp_path, cluster={"certificate-authority-data": junk})
    with pytest.raises(UsageError, match="cannot use"):
        await Connection(Source(path)).get_json(WHO)
