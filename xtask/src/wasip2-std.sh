#!/bin/sh
# Builds the standard library for wasm32-wasip2 with the rustc that is installed,
# for machines on which `rustup target add wasm32-wasip2` does not work.
#
#   wasip2-std.sh DIRECTORY
#
# leaves DIRECTORY/lib as <sysroot>/lib/rustlib/wasm32-wasip2/lib would be: the
# rlibs, and the self-contained start files and C library. Needs apt-get, dpkg
# and a Debian mirror: Debian packages the sources of each rustc (rust-src) and a
# wasi-libc that has this target. The machine's own packages and package lists
# are neither used nor changed.
set -eu

out=${1:?usage: wasip2-std.sh DIRECTORY}
version=$(rustc --version | cut -d' ' -f2)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "$1" >&2
    exit 1
}

# The mirror that this machine is set up for; Debian's own where it has none.
configured_mirrors() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2> /dev/null || true
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
        /etc/apt/sources.list.d/*.sources 2> /dev/null |
        grep -v '^[[:space:]]*#' | tr -s '[:space:]' '\n' || true
}
mirror=$(configured_mirrors | grep -m1 '://.*/debian/*$' || echo http://deb.debian.org/debian)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || fail "$keyring is missing: install the package debian-archive-keyring"

mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
for suite in sid forky trixie-backports trixie bookworm-backports bookworm; do
    echo "deb [signed-by=$keyring] $mirror $suite main"
done > "$work/sources.list"
private() {
    program=$1
    shift
    "$program" -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
        -o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}

# A suite that the mirror does not have is no reason to stop: what counts is
# whether one of them has the two packages.
echo "reading the package lists of $mirror"
private apt-get update > "$work/update.log" 2>&1 || true
newest() { # PACKAGE PREFIX: its first version, in any suite, that starts so
    private apt-cache madison "$1" |
        awk -F'|' -v prefix="$2" '{ gsub(/ /, "", $2) } index($2, prefix) == 1 { print $2; exit }'
}
rust_src=$(newest rust-src "$version+")
wasi_libc=$(newest wasi-libc 0.0)
if [ -z "$rust_src" ] || [ -z "$wasi_libc" ]; then
    cat "$work/update.log" >&2
    fail "no Debian suite at $mirror has rust-src $version and wasi-libc"
fi

cd "$work"
echo "fetching rust-src $rust_src and wasi-libc $wasi_libc"
private apt-get download "rust-src=$rust_src" "wasi-libc=$wasi_libc" > download.log 2>&1 || {
    cat download.log >&2
    fail "the packages could not be fetched"
}
for package in *.deb; do
    dpkg -x "$package" unpacked
done

# The workspace `library/`, with the flags of rustc's own bootstrap, and with no
# path of this machine in what panics say.
echo "compiling the standard library"
sources=$work/unpacked/usr/src/rustc-$version
unset CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET
RUSTC_BOOTSTRAP=1 __CARGO_DEFAULT_LIB_METADATA=stablestd \
RUSTFLAGS="-Zforce-unstable-if-unmarked -Cembed-bitcode=yes --remap-path-prefix=$sources=/rust --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
    "${CARGO:-cargo}" build --quiet --locked --release --target wasm32-wasip2 \
    --manifest-path "$sources/library/sysroot/Cargo.toml" \
    --features 'panic-unwind backtrace compiler-builtins-mem' --target-dir "$work/std"

rm -rf "$out/lib"
mkdir -p "$out/lib/self-contained"
cp std/wasm32-wasip2/release/deps/*.rlib "$out/lib/"
cp unpacked/usr/lib/wasm32-wasip2/*.a unpacked/usr/lib/wasm32-wasip2/*.o "$out/lib/self-contained/"
