#!/usr/bin/env bash
# The E-step on CPU, twins and GPU, side by side: the tables of docs/measured.md. NOISYOR_TINY20=.../tiny20.svm.gz adds tiny20, which is
# not bundled. About six minutes on two cores with software Vulkan.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked
bench() {
    printf '\n== noisyor bench --backend cpu,twins,gpu %s\n' "$*"
    target/release/noisyor bench --quiet --backend cpu,twins,gpu "$@"
}
if [ -n "${NOISYOR_TINY20:-}" ]; then
    model=$(mktemp --suffix .json)
    trap 'rm -f "$model"' EXIT
    python3 -c 'import json; print(json.dumps(json.load(open("tests/golden/tiny20_peer.json"))["cases"][1]["model"]))' > "$model"
    bench --model "$model" "$NOISYOR_TINY20"
else
    echo "tiny20 left out: NOISYOR_TINY20 is not set"
fi
bench
bench --preset dblp --docs 4000
bench --preset yelp --docs 2000
