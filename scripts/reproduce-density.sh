#!/usr/bin/env bash
# Table 2 of Zhao, Adel, Gordon and Amos 2016 (density estimation with sum-product networks): scripts/reproduce-density.sh DATA_DIR
# DATA_DIR has SET.train.csv.gz, SET.valid.csv.gz and SET.test.csv.gz, dense tables of zeros and ones. For every set that is there: mean
# log-likelihood of the test rows, in nats, of MLE, CVB, EM and online CVB, beside the published figures, and the bound of a noisy-OR network.
#   SETS="nltcs plants"   some of the sets only
#   FITS="mle cvb"        some of the fits only, of em mle cvb cvb-paper online stream
#   NETWORKS=0            no noisy-OR networks
#   SEED=1                another seed
#   NOISYOR=FILE          a program that is built already
set -euo pipefail
data=$(cd "${1:?usage: scripts/reproduce-density.sh DATA_DIR}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --locked --quiet --manifest-path "$root/Cargo.toml"
    NOISYOR=$root/target/release/noisyor
fi
export NOISYOR
exec python3 -B "$root/scripts/reproduce-density.py" "$data"
