#!/usr/bin/env bash
# Installs what a fresh Debian or Ubuntu with a Rust toolchain is missing, then formats, lints, docs and tests.
set -euo pipefail
cd "$(dirname "$0")/.."

install() { # install COMMAND PACKAGE: the package, if the command is not there
    command -v "$1" > /dev/null && return
    local sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "installing $2 ($1 is missing)"
    $sudo apt-get update -q
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$2"
}

command -v cargo > /dev/null || { echo "a Rust toolchain is needed: https://rustup.rs" >&2; exit 1; }
install cc build-essential
cargo fmt --version > /dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version > /dev/null 2>&1 || rustup component add clippy

step() { printf '\n== %s\n' "$*"; "$@"; }
step cargo fmt --all --check
step cargo clippy --locked --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --locked --no-deps --document-private-items
step cargo test --locked
if command -v cargo-deny > /dev/null; then
    step cargo deny check bans licenses sources
else
    echo "cargo deny is not installed: licences and sources not checked (cargo install cargo-deny)"
fi
echo "all checks passed"
