#!/usr/bin/env bash
# Installs what a fresh Debian or Ubuntu with a Rust toolchain is missing, then formats, lints, docs and tests.
set -euo pipefail
cd "$(dirname "$0")/.."

install() { # install PACKAGE WHY
    local sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "installing $1: $2"
    $sudo apt-get update -q
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$1"
}

test_in_browser() { # reports opened in Chromium; a busy machine may take three times as long
    if [ "${NOISYOR_SKIP_BROWSER:-}" = 1 ]; then
        echo "skipped, as NOISYOR_SKIP_BROWSER=1: no report is opened in a browser"
        return
    fi
    command -v chromium > /dev/null || install chromium "there is no browser"
    command -v chromedriver > /dev/null || install chromium-driver "nothing drives the browser"
    NOISYOR=target/debug/noisyor SLOW=3 step scripts/browser-test.sh
}

test_python() { # the Python package, with the program that was built for the tests
    if [ "${NOISYOR_SKIP_PYTHON:-}" = 1 ]; then
        echo "skipped, as NOISYOR_SKIP_PYTHON=1: the Python package is not tested"
        return
    fi
    python3 -c 'import venv, ensurepip' 2> /dev/null || install python3-venv "there is no Python with venv"
    step scripts/test-python.sh
}

has_vulkan() { # a driver's description where Vulkan's loader looks for it
    compgen -G '/usr/share/vulkan/icd.d/*.json' > /dev/null || compgen -G '/etc/vulkan/icd.d/*.json' > /dev/null
}

command -v cargo > /dev/null || { echo "a Rust toolchain is needed: https://rustup.rs" >&2; exit 1; }
command -v cc > /dev/null || install build-essential "there is no C compiler"
# The GPU tests fail without an adapter; NOISYOR_SKIP_GPU=1 skips them, and says so.
has_vulkan || [ "${NOISYOR_SKIP_GPU:-}" = 1 ] || install mesa-vulkan-drivers "there is no Vulkan driver"
cargo fmt --version > /dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version > /dev/null 2>&1 || rustup component add clippy

# Mesa's device-selection layer complains about a missing display each time a device is opened.
export NODEVICE_SELECT=1
# From clean, incremental compilation only adds work: 7 minutes of building instead of 12.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"

# As scripts/test-python.sh has it; the other way PyO3 would be compiled anew.
export PYO3_BUILD_EXTENSION_MODULE=1

# Tint, a second WGSL compiler, which finds what naga does not. Tests without it say so.
if command -v npm > /dev/null && scripts/tint/tint --install; then
    export PATH="$PWD/scripts/tint:$PATH"
else
    echo "no npm, or no package 'webgpu': shaders are not compiled by Tint (apt-get install npm)"
fi

step() { printf '\n== %s\n' "$*"; "$@"; }
step cargo fmt --all --check
step cargo clippy --locked --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --locked --workspace --no-deps --document-private-items
# Fewer features: the library alone, with each, and the program without the others.
for features in "" gpu parquet cjk; do
    step cargo clippy --locked --lib --no-default-features --features "$features" -- -D warnings
done
step cargo clippy --locked --bins --no-default-features --features cli -- -D warnings
if command -v mpicc > /dev/null; then
    step cargo clippy --locked --lib --bins --no-default-features --features cli,mpi -- -D warnings
else
    echo "skipped: no mpicc, so the feature mpi is not compiled (scripts/test-mpi.sh installs one)"
fi
# Unit tests take seconds, so the library is not optimised a second time for them.
step cargo test --locked --lib --config profile.dev.package.noisyor.opt-level=0
step cargo test --locked --bins --test '*'
step cargo test --locked --doc
for example in examples/*.rs; do # they assert what they find
    step cargo run --locked --quiet --example "$(basename "$example" .rs)"
done
test_in_browser
test_python
if command -v cargo-deny > /dev/null; then
    step cargo deny --workspace check bans licenses sources
else
    echo "cargo deny is not installed: licences and sources not checked (cargo install cargo-deny)"
fi
echo "all checks passed"
