#!/usr/bin/env bash
# A fault suite of training and its files: kill -9, Ctrl-C, full disks, flipped bits, two processes, replaced files. What was
# disturbed and resumed must end with the bytes of an undisturbed run. Status 1 if anything failed.
#   scripts/faults.sh [KILLS] [SEED]      200 and 0: about 20 minutes on two cores; 20 kills: some minutes
# Each of eleven kinds of run is killed KILLS / 10 times.
# Full disks need root (tmpfs) and strace; without them that part is left out, and said so. Works in target/faults; what failed
# stays there. NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --locked
    NOISYOR=target/release/noisyor
fi
exec python3 -B scripts/faults "$(realpath "$NOISYOR")" "${1:-200}" "${2:-0}"
