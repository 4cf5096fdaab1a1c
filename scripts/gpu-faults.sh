#!/usr/bin/env bash
# Destroys the GPU and runs it out of memory, 20 times each at random moments; the results must be those of an undisturbed run.
# gpu-faults.sh [SEED]
set -euo pipefail
cd "$(dirname "$0")/.."
NOISYOR_FAULT_SEED="${1:-0}" cargo test --locked --release --test gpu -- faults:: --ignored --nocapture --test-threads=1
