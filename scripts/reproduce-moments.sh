#!/usr/bin/env bash
# Reproduces Halpern and Sontag 2013 (UAI): Fig. 3, parameters of small networks by moments and by EM, and Fig. 4 and the times of section
# 4.2, on networks of the size of QMR-DT:
#   scripts/reproduce-moments.sh [DIR]
# Prints tables, writes docs/moments-figure-3.svg and docs/moments-qmr.svg. Corpora and models stay in DIR [default:
# target/reproduce-moments]; what is there is not computed again. By environment variables: NETWORKS (of Fig. 3, 64), SIZES ("100 1000
# 10000 100000 1000000"), STARTS (of variational EM, 64), EM_SIZES (sizes at which EM is tried, "100 1000 10000 100000"), EM_NETWORKS (16), EXACT_STARTS (4),
# QMR_SIZES ("10000 100000 1000000"), ZIPF_SIZES ("40000 200000"), RECOVERY_SIZES (of the recovery of true parameters, "1000 10000 100000
# 1000000"). NETWORKS=0 does the recovery alone, RECOVERY_SIZES= leaves it out. With STARTS=8 it takes about half an hour; time grows with
# STARTS. NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --locked --manifest-path "$root/Cargo.toml"
    NOISYOR=$root/target/release/noisyor
fi
export NOISYOR
exec python3 -B "$root/scripts/reproduce-moments.py" "${1:-$root/target/reproduce-moments}" "$root/docs"
