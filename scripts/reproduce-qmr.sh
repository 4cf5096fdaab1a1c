#!/usr/bin/env bash
# Reproduces Figs. 1 to 3 of Ng & Jordan (2000) and measures the calibration of `posterior` on cases of the preset qmr:
#   scripts/reproduce-qmr.sh [DIR]
# Prints tables, writes docs/qmr-convergence.svg and docs/qmr-hybrids.svg. The rows behind them stay in DIR [default:
# target/reproduce-qmr]. About half an hour on two busy cores. By environment variables: NETWORKS (of each size, for Fig. 1), CASES (sampled),
# KNOWN (shares of the findings that are known).
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/reproduce-qmr}
mkdir -p "$out"
# No feature is needed: that compiles faster.
qmr() { cargo bench --locked --quiet --no-default-features --bench qmr -- "$@"; }
qmr convergence "${NETWORKS:-400}" > "$out/convergence.tsv"
qmr hybrids > "$out/hybrids.tsv"
python3 -B scripts/reproduce-qmr.py "$out" docs
for known in ${KNOWN:-1 0.5 0.25 0.1}; do
    echo
    qmr calibration "${CASES:-10000}" "$known" | tee "$out/calibration-$known.md"
done
