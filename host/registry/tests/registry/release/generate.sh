#!/bin/sh
# Creates the keys, checksums and signatures in this directory with GnuPG. The secret keys are not
# kept, so all files are created together.
set -eu
cd "$(dirname "$0")"
GNUPGHOME=$(mktemp -d)
export GNUPGHOME
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT

# The times are in the past on every machine.
key() { # NAME TIME EXPIRY
    name=$1
    gpg --batch --quiet --passphrase '' --faked-system-time "$2!" --quick-gen-key "$name" ed25519 sign "$3"
    gpg --quiet --armor --export-options export-minimal --export "$name" > "$name.asc"
}
key author 20240101T000000 never
key other 20240101T000000 never
key partner 20240101T000000 never
key expired 20200101T000000 30d

# The digests are those of the contents in tests/registry/release.rs.
digest() { printf '%s\n' "$1" | sha256sum | cut -d ' ' -f 1; }
line() { printf '%s  terraform-provider-foo_1.0.0_%s\n' "$(digest "$1")" "$2"; }
{
    line native linux_amd64.zip
    line windows windows_amd64.zip
    line manifest manifest.json
} > native.sums
{
    line native linux_amd64.zip
    line component wasip2_wasm.wasm
    line component-archive wasip2_wasm.zip
} > component.sums
line component-archive wasip2_wasm.zip > archive.sums

sign() { # TIME KEY FILE SIGNATURE [OPTION]
    time=$1 by=$2 file=$3 signature=$4
    shift 4
    gpg --batch --quiet --yes --faked-system-time "$time!" "$@" --local-user "$by" --detach-sign \
        --output "$signature" "$file"
}
now=20240102T000000
for sums in native component archive; do sign $now author $sums.sums $sums.sig; done
sign $now other native.sums native.other.sig
sign 20200110T000000 expired native.sums native.expired.sig
sign $now author native.sums native.armored.sig --armor

# A trust signature covers the bytes of the author's key.
gpg --quiet --dearmor < author.asc > author.key
sign $now partner author.key author.trust.asc --armor
rm author.key
