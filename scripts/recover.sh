#!/usr/bin/env bash
# Recovers the 8 known causes of IMG, PLNT and UNIF: scripts/recover.sh DATA_DIR (with SET.csv.gz and SET.truth.json of each).
# Networks of 8, 16 and 32 latents, each linked to every variable, from random weights, ten seeds each: docs/recovery.md.
#   SEEDS="1 2 3"  other seeds      JOBS=N  runs at a time (each has one thread)
#   OUT=DIR        keep a line for each run there, and do not run again what is there already
#   NOISYOR=FILE   a program that is built already
set -euo pipefail
data=$(cd "${1:?usage: scripts/recover.sh DATA_DIR}" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
OUT=${OUT:-$work/results}
mkdir -p "$OUT"
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --quiet
    NOISYOR=./target/release/noisyor
fi
export data work OUT NOISYOR

one() { # SET LATENTS SEED
    local run="$work/$1.$2.$3" result="$OUT/$1.$2.$3.txt"
    if [ -s "$result" ]; then return; fi
    "$NOISYOR" train "$data/$1.csv.gz" --format dense --graph "$work/$1.$2.tsv" --renew --patience 10 --epochs 100 \
        --seed "$3" --threads 1 --backend cpu --quiet -o "$run" > "$run.log"
    "$NOISYOR" model convert "$run/model.safetensors" "$run/model.json" --quiet > "$run.log"
    python3 -B scripts/recover.py count "$data/$1.truth.json" "$run/model.json" "$run/metrics.jsonl" > "$run.txt"
    mv "$run.txt" "$result"
    rm -r "$run"
}
export -f one

for set in IMG PLNT UNIF; do
    python3 -B scripts/recover.py truth "$data/$set.truth.json" "$work/$set.json"
    "$NOISYOR" eval "$work/$set.json" "$data/$set.csv.gz" --format dense --backend cpu --quiet --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["elbo_mean"])' > "$OUT/$set.truth.txt"
    for latents in 8 16 32; do
        python3 -B scripts/recover.py graph "$data/$set.truth.json" "$latents" "$work/$set.$latents.tsv"
    done
done
for seed in ${SEEDS:-$(seq 11 20)}; do
    for set in IMG PLNT UNIF; do for latents in 8 16 32; do echo "$set $latents $seed"; done; done
done | xargs -P "${JOBS:-$(nproc)}" -L 1 bash -euo pipefail -c 'one "$@"' one
python3 -B scripts/recover.py table "$OUT"
