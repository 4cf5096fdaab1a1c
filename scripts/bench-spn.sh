#!/usr/bin/env bash
# Sum-product networks beside SPFlow: scripts/bench-spn.sh TRAIN.csv.gz ROWS.csv.gz. Learns a network from a table of zeros and ones, and
# evaluates the same network on the same rows with both, on one thread: rows per CPU-second, and the largest difference of a log-likelihood.
# Installs SPFlow from PyPI in a folder of its own.
#   ROWS_OTHER=2000   rows that SPFlow evaluates at most
#   SPFLOW=0.0.48     another version of it
#   PYTHON=python3    the Python to use
set -euo pipefail
train=$(realpath "${1:?usage: scripts/bench-spn.sh TRAIN.csv.gz ROWS.csv.gz}")
rows=$(realpath "${2:?usage: scripts/bench-spn.sh TRAIN.csv.gz ROWS.csv.gz}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-$work/venv}
if [ ! -x "$venv/bin/python" ]; then
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "spflow==${SPFLOW:-0.0.48}"
fi
cargo bench --locked --quiet --bench spn -- "$train" "$rows" "$work/spn.json"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
"$venv/bin/python" scripts/bench_spn.py "$work/spn.json" "${ROWS_OTHER:-2000}"
