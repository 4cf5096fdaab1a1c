#!/usr/bin/env bash
# Control variates (docs/control-variates.md): variances at fixed weights, and held-out scores against documents seen, with and without:
#   scripts/reproduce-control.sh [CORPUS [DIR]]
# CORPUS is any corpus that `noisyor train` reads [default: the bundled sample]. Runs, variance.txt, scores.tsv and scores.svg go to DIR [default:
# target/reproduce-control]; started again it goes on where it stopped. By environment variables: BATCH=500, EPOCHS=6, SEEDS="1 2 3", TRAIN (more
# options of `train`, as "--topics 316,31 --min-gain 1"), MODELS="network lda hdp nmf", TOPICS=20 (of LDA, HDP and NMF).
# NOISYOR=path/to/noisyor takes that program, VARIANCE=path/to/variance that bench, instead of building them.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
corpus=${1:-}
out=${2:-$root/target/reproduce-control}
mkdir -p "$out"
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --locked --manifest-path "$root/Cargo.toml"
    NOISYOR=$root/target/release/noisyor
fi
if [ -z "$corpus" ]; then
    corpus=$out/sample/corpus.jsonl.gz
    mkdir -p "$out/sample"
    cp "$root/data/sample/corpus.jsonl.gz" "$out/sample"
fi

run() { # RUN COMMAND...
    local run=$1
    shift
    [ -e "$run.done" ] && return
    rm -rf "$run"
    echo "$(basename "$run")"
    "$NOISYOR" "$@" --batch "${BATCH:-500}" --epochs "${EPOCHS:-6}" --patience 0 --quiet -o "$run" > "$run.log"
    touch "$run.done"
}

network() { # SEED
    # TRAIN is a list of options.
    # shellcheck disable=SC2086
    for with in false true; do
        run "$out/network-$1-$with" train "$corpus" ${TRAIN:---topics 100,10} --seed "$1" --control-variates=$with
    done
}

# Other models. Each takes a seed and makes the runs MODEL-SEED-false and MODEL-SEED-true; to add one, write a function and name it in MODELS.
baseline() { # MODEL SEED OPTIONS...
    local model=$1 seed=$2
    shift 2
    run "$out/$model-$seed-false" baseline "$model" "$corpus" --topics "${TOPICS:-20}" --seed "$seed" "$@"
    run "$out/$model-$seed-true" baseline "$model" "$corpus" --topics "${TOPICS:-20}" --seed "$seed" "$@" --control-variates
}
lda() { baseline lda "$1" --likelihood multinomial; }
hdp() { baseline hdp "$1"; }
nmf() { baseline nmf "$1"; }

for seed in ${SEEDS:-1 2 3}; do
    for model in ${MODELS:-network lda hdp nmf}; do
        "$model" "$seed"
    done
done
first=${SEEDS:-1}
variance=("$corpus" "$out/network-${first%% *}-true/model.safetensors")
if [ -n "${VARIANCE:-}" ]; then
    "$VARIANCE" "${variance[@]}" | tee "$out/variance.txt"
else
    cargo bench --manifest-path "$root/Cargo.toml" --bench variance -- "${variance[@]}" | tee "$out/variance.txt"
fi
python3 -B "$root/scripts/reproduce-control.py" "$out"
