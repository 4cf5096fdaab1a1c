#!/usr/bin/env bash
# Held-out likelihood, cost and labels of noisyor beside mixtures of Bernoullis, independent tokens, LDA and raw words: one table.
#   scripts/compare-models.sh DATA_DIR [options; --help lists them]
# DATA_DIR has debian/packages.tsv.gz (ids, labels, texts), tiny20/tiny20.svm.gz and tiny20/vocab.txt, and debd/SET.PART.csv.gz of
# bbc, baudio and plants with their parts train, valid and test; --sets takes some of them only. Rows are printed as they come, and
# written to target/compare-models/rows.jsonl, in place of those of the last run.
# NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
if [ $# -eq 0 ]; then
    echo "error: no data given; usage: scripts/compare-models.sh DATA_DIR [options]" >&2
    exit 2
fi
# The environment of topic-quality.sh, with the same versions.
venv=$(dirname "$0")/../target/topic-quality-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 scipy==1.17.1 tomotopy==0.14.0 safetensors==0.8.0

root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --quiet --manifest-path "$root/Cargo.toml"
    NOISYOR=$root/target/release/noisyor
fi
exec "$venv/bin/python" -B "$root/scripts/compare_models.py" --noisyor "$NOISYOR" --work "$root/target/compare-models" "$@"
