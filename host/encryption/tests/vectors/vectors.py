#!/usr/bin/env python3
"""Encrypted documents, computed without Wardian.

    vectors.py record FILE    writes documents with their configurations and contents
    vectors.py open PASSPHRASE < DOCUMENT
                              prints the content of a document whose key provider is a single pbkdf2

The documents follow the description of the format in OpenTofu's documentation: PBKDF2 of hashlib, and
AES-GCM of the package "cryptography". All "random" bytes are fixed, so the output is reproducible.
"""

import base64
import hashlib
import json
import sys

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

STATE = json.dumps(
    {
        "version": 4,
        "terraform_version": "1.11.4",
        "serial": 7,
        "lineage": "7b1d9f6e-0000-4000-8000-000000000001",
        "outputs": {"password": {"value": "h\u00e4mmern & <s\u00e4gen>", "type": "string", "sensitive": True}},
        "resources": [],
        "check_results": None,
    },
    ensure_ascii=False,
    indent=2,
)


def b64(data):
    return base64.b64encode(data).decode()


def derive(passphrase, salt, iterations, function, length):
    return hashlib.pbkdf2_hmac(function, passphrase, salt, iterations, length)


def metadata(salt, iterations, function, length):
    fields = {"salt": b64(salt), "iterations": iterations, "hash_function": function, "key_length": length}
    return b64(json.dumps(fields, separators=(",", ":")).encode())


def document(meta, key, content, aad=None, identity=True):
    nonce = bytes(range(100, 112))
    data = nonce + AESGCM(key).encrypt(nonce, content.encode(), aad)
    members = {}
    if identity:
        state = json.loads(content)
        members = {"serial": state["serial"], "lineage": state["lineage"]}
    members.update({"meta": meta, "encrypted_data": b64(data), "encryption_version": "v0"})
    return json.dumps(members, separators=(",", ":"))


def config(providers, target, aad=None):
    blocks = []
    for name, arguments in providers.items():
        lines = "".join(f"  {argument} = {value}\n" for argument, value in arguments.items())
        blocks.append(f'key_provider "pbkdf2" "{name}" {{\n{lines}}}\n')
    last = list(providers)[-1]
    more = f"  aad = {list(aad)}\n" if aad else ""
    blocks.append(f'method "aes_gcm" "m" {{\n  keys = key_provider.pbkdf2.{last}\n{more}}}\n')
    blocks.append(f"{target} {{\n  method = method.aes_gcm.m\n}}\n")
    return "\n".join(blocks)


def single(name, function, length, iterations, salt, passphrase, aad=None, alias=None, target="state"):
    arguments = {
        "passphrase": json.dumps(passphrase, ensure_ascii=False),
        "key_length": length,
        "iterations": iterations,
        "salt_length": len(salt),
        "hash_function": json.dumps(function),
    }
    if alias:
        arguments["encrypted_metadata_alias"] = json.dumps(alias)
    key = derive(passphrase.encode(), salt, iterations, function, length)
    meta = {alias or "key_provider.pbkdf2.p": metadata(salt, iterations, function, length)}
    return {
        "name": name,
        "target": target,
        "configuration": config({"p": arguments}, target, aad),
        "document": document(meta, key, STATE, aad, target == "state"),
        "content": STATE,
    }


def chained():
    first, second = bytes(range(32)), bytes(range(50, 70))
    passphrase = "a passphrase for the chain"
    upstream = derive(passphrase.encode(), first, 200000, "sha512", 48)
    key = derive(upstream, second, 200001, "sha256", 32)
    meta = {
        "key_provider.pbkdf2.q": metadata(second, 200001, "sha256", 32),
        "first": metadata(first, 200000, "sha512", 48),
    }
    providers = {
        "p": {
            "passphrase": json.dumps(passphrase),
            "key_length": 48,
            "iterations": 200000,
            "encrypted_metadata_alias": '"first"',
        },
        "q": {"chain": "key_provider.pbkdf2.p", "iterations": 200001, "hash_function": '"sha256"'},
    }
    return {
        "name": "chain",
        "target": "state",
        "configuration": config(providers, "state"),
        "document": document(meta, key, STATE),
        "content": STATE,
    }


def record(path):
    salt = bytes(range(32))
    cases = [
        single("sha512, 256 bits", "sha512", 32, 600000, salt, "correct-horse-battery-staple"),
        single("sha256, 128 bits", "sha256", 16, 200000, salt[:8], "correct-horse-battery-staple"),
        single("sha512, 192 bits", "sha512", 24, 200001, salt[:1], "p\u00e4ssphr\u00e4se with 16 characters"),
        single("additional data", "sha512", 32, 200000, salt, "correct-horse-battery-staple", bytes([0, 1, 255])),
        single("alias", "sha512", 32, 200000, salt, "correct-horse-battery-staple", alias="certificates"),
        single("plan", "sha512", 32, 200000, salt, "correct-horse-battery-staple", target="plan"),
        chained(),
    ]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(cases, file, indent=1, ensure_ascii=False)
        file.write("\n")


def open_document(passphrase):
    stored = json.load(sys.stdin)
    assert stored["encryption_version"] == "v0", stored["encryption_version"]
    (encoded,) = stored["meta"].values()
    fields = json.loads(base64.b64decode(encoded))
    assert list(fields) == ["salt", "iterations", "hash_function", "key_length"], fields
    key = derive(
        passphrase.encode(),
        base64.b64decode(fields["salt"]),
        fields["iterations"],
        fields["hash_function"],
        fields["key_length"],
    )
    data = base64.b64decode(stored["encrypted_data"])
    sys.stdout.write(AESGCM(key).decrypt(data[:12], data[12:], None).decode())


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(sys.argv[2])
    else:
        open_document(sys.argv[2])
