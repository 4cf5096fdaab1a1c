#!/usr/bin/env bash
# Density estimation on binary tables: scripts/density.sh DATA_DIR (with SET.train.csv.gz, SET.valid.csv.gz and SET.test.csv.gz of bbc,
# baudio and plants). Complete two-layer networks, started from a mixture; topics, lambda and epochs were chosen by the validation
# parts (docs/density.md). Prints a line for every set and seed: nats a row of the test part.
#   SEEDS="1 2 3"   other seeds
#   SETS="bbc"      some of the sets only
#   SAMPLES=10      samples a row for the log-likelihood of the first 200 rows; 0: none
#   NOISYOR=FILE    a program that is built already
set -euo pipefail
data=$(cd "${1:?usage: scripts/density.sh DATA_DIR}" && pwd)
cd "$(dirname "$0")/.."
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --locked --quiet
    NOISYOR=./target/release/noisyor
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

declare -A options=(
    [bbc]="--topics 80 --lambda 15 --epochs 3"
    [baudio]="--topics 60 --lambda 8 --epochs 8"
    [plants]="--topics 300 --lambda 1 --epochs 6"
)

key() { python3 -c 'import json, sys; print(f"{json.load(sys.stdin)[sys.argv[1]]:.3f}")' "$1"; }
evaluate() { # KEY ROWS OPTIONS...
    local key=$1 rows=$2
    shift 2
    "$NOISYOR" eval "$work/run/model.safetensors" "$rows" --format dense --backend cpu --quiet --json "$@" | key "$key"
}

echo "| set | seed | validation | test | test, \`--clamp 8\` | log-likelihood of 200 test rows (their bound, \`--clamp 8\`) |"
echo "|---|---|---|---|---|---|"
for set in ${SETS:-bbc baudio plants}; do
    for seed in ${SEEDS:-1 2 3}; do
        rm -rf "$work/run"
        # shellcheck disable=SC2086
        "$NOISYOR" train "$data/$set.train.csv.gz" --format dense --parents all ${options[$set]} --batch full --valid 0 --seed "$seed" \
            --backend cpu --quiet -o "$work/run" > /dev/null
        valid=$(evaluate elbo_mean "$data/$set.valid.csv.gz")
        test=$(evaluate elbo_mean "$data/$set.test.csv.gz")
        structured=$(evaluate elbo_mean "$data/$set.test.csv.gz" --clamp 8)
        likelihood=""
        if [ "${SAMPLES:-10}" != 0 ]; then
            (zcat "$data/$set.test.csv.gz" || true) | head -n 200 > "$work/rows.csv"
            likelihood="$(evaluate likelihood_mean "$work/rows.csv" --clamp 8 --likelihood="${SAMPLES:-10}" --seed "$seed")"
            likelihood="$likelihood ($(evaluate elbo_mean "$work/rows.csv" --clamp 8))"
        fi
        echo "| $set | $seed | $valid | $test | $structured | $likelihood |"
    done
done
