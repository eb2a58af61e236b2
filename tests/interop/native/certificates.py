"""Writes the certificates of the servers and of the client to a directory: `ca.crt`, and `server` and
`client` with the extensions `.crt` and `.key`."""

import datetime
import ipaddress
import pathlib
import socket
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NOW = datetime.datetime.now(datetime.timezone.utc)


def name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def certificate(subject, key, issuer, issuer_key, extensions):
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - datetime.timedelta(hours=1))
        .not_valid_after(NOW + datetime.timedelta(days=7))
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def main(directory):
    ca, server, client = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    usage = dict.fromkeys(
        ["content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
         "decipher_only"],
        False,
    )
    signing = x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **usage)
    files = {
        "ca.crt": certificate("interop", ca, "interop", ca, [
            (x509.BasicConstraints(ca=True, path_length=0), True),
            (signing, True),
            (x509.SubjectKeyIdentifier.from_public_key(ca.public_key()), False),
        ]),
    }
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.public_key())
    usages = x509.ExtendedKeyUsageOID
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    own_name = x509.DNSName(socket.gethostname())
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), own_name, loopback])
    for title, key, more in [
        ("server", server, [(names, False), (x509.ExtendedKeyUsage([usages.SERVER_AUTH]), False)]),
        ("client", client, [(x509.ExtendedKeyUsage([usages.CLIENT_AUTH]), False)]),
    ]:
        files[f"{title}.crt"] = certificate(title, key, "interop", ca, [(identifier, False), *more])
        files[f"{title}.key"] = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    for title, content in files.items():
        (directory / title).write_bytes(content)


main(pathlib.Path(sys.argv[1]))
