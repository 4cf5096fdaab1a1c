#!/usr/bin/env bash
# The Python package beside the program, in time and memory: scripts/bench-python.sh CORPUS [--topics N,N] [--epochs N] [--rows N]
# CORPUS is in any format of the program. Builds both with --release; uses the environment of scripts/test-python.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
python=$target/python-venv/bin/python
[ -x "$python" ] || { echo "run scripts/test-python.sh first: it sets up the environment" >&2; exit 1; }

PYO3_BUILD_EXTENSION_MODULE=1 cargo build --locked --release --quiet -p noisyor -p noisyor-python
package=$target/python-release
rm -rf "$package"
mkdir -p "$package"
cp -r python/noisyor "$package"
cp "$target/release/lib_core.so" "$package/noisyor/_core.abi3.so"
NOISYOR=$target/release/noisyor PYTHONPATH=$package exec "$python" scripts/bench_python.py "$@"
