#!/usr/bin/env bash
# Topic quality on labelled documents: noisyor, LDA and raw words side by side, as a Markdown table.
#   scripts/topic-quality.sh DATA_FILE [options; --help lists them]
# DATA_FILE is a table with ids, labels and texts in its first three columns, or what --corpus-args makes of it.
# NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
if [ $# -eq 0 ]; then
    echo "error: no documents given; usage: scripts/topic-quality.sh DATA_FILE [options]" >&2
    exit 2
fi
venv=$(dirname "$0")/../target/topic-quality-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 scipy==1.17.1 tomotopy==0.14.0 safetensors==0.8.0

root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --quiet --manifest-path "$root/Cargo.toml"
    NOISYOR=$root/target/release/noisyor
fi
exec "$venv/bin/python" "$root/scripts/topic_quality.py" --noisyor "$NOISYOR" --work "$root/target/topic-quality" "$@"
