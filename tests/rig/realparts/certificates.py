"""Certificates of a throw-away cluster: one authority, server and client certificates under it."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


class Authority:
    """Signs certificates and writes them, with their keys, into one folder as PEM files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rig authority")])
        certificate = (
            _builder(self._name, self._name, self._key.public_key(), timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs=True), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        self.path = folder / "ca.crt"
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, name: str, *addresses: str) -> tuple[Path, Path]:
        """Certificate and key for a server at these addresses."""
        names = [x509.DNSName("localhost"), x509.DNSName("kubernetes.default.svc")]
        hosts = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        return self._write(
            name,
            [x509.NameAttribute(NameOID.COMMON_NAME, name)],
            lifetime=timedelta(days=1),
            alternative=x509.SubjectAlternativeName([*names, *hosts]),
        )

    def client(
        self, user: str, groups: tuple[str, ...] = (), *, lifetime: timedelta = timedelta(days=1)
    ) -> tuple[Path, Path]:
        """Certificate and key of a user in these groups; good for `lifetime` from now."""
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = [x509.NameAttribute(NameOID.COMMON_NAME, user), *organizations]
        return self._write(user, subject, lifetime=lifetime, alternative=None)

    def _write(
        self,
        name: str,
        subject: list[x509.NameAttribute[str]],
        *,
        lifetime: timedelta,
        alternative: x509.SubjectAlternativeName | None,
    ) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID.SERVER_AUTH if alternative else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = (
            _builder(x509.Name(subject), self._name, key.public_key(), lifetime)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if alternative:
            builder = builder.add_extension(alternative, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        paths = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(_private_pem(key))
        return paths


def write_signing_key(path: Path) -> Path:
    """A key for service-account tokens; the API server signs, it and the controllers verify."""
    path.write_bytes(_private_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)))
    return path


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + lifetime)
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _private_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
