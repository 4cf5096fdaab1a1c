#!/usr/bin/env bash
# Reproduces Fig. 6 of Ji et al. 2019, stochastic against full-batch training, on random networks of the sizes of DBLP and Yelp:
#   scripts/reproduce-scale.sh [DIR]
# The true graph is given, its weights are not. Prints a table, writes docs/scale.svg. Corpora, runs, times and memory stay in DIR
# [default: target/reproduce-scale]; started again it goes on where it stopped, and scripts/reproduce-scale.py DIR draws again.
# About an hour and a half on two idle cores. By environment variables: PRESETS="dblp yelp", DOCS (of each preset; with it BATCH should
# change, and FIGURE=file.svg), BATCH, EPOCHS_DBLP and EPOCHS_YELP (stochastic and full), VALID (share held out).
# NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/target/reproduce-scale}
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --locked --manifest-path "$root/Cargo.toml"
    NOISYOR=$root/target/release/noisyor
fi
epochs_dblp=${EPOCHS_DBLP:-8 25}
epochs_yelp=${EPOCHS_YELP:-5 12}

corpus() { # PRESET
    local dir=$out/$1
    [ -e "$dir/corpus.noisyor" ] && return
    "$NOISYOR" synth --preset "$1" ${DOCS:+--docs "$DOCS"} -o "$dir/synth"
    mv "$dir/synth/network.safetensors" "$dir"
    "$NOISYOR" corpus "$dir/synth/corpus.svm" --vocab "$dir/network.safetensors" -o "$dir/corpus.noisyor"
    rm -r "$dir/synth"
}

train() { # PRESET NAME BATCH EPOCHS
    local dir=$out/$1 run=$out/$1/$2 status=0
    [ -s "$run.json" ] && return
    echo "$1, $2: $4 epochs"
    if [ -e "$run/config.json" ]; then
        "$NOISYOR" train --resume "$run" --json --quiet > "$run.part" &
    else
        rm -rf "$run"
        "$NOISYOR" train "$dir/corpus.noisyor" --graph "$dir/network.safetensors" --init data --valid "${VALID:-0.02}" --batch "$3" \
            --epochs "$4" --patience 0 --backend cpu --json --quiet -o "$run" > "$run.part" &
    fi
    # Of its memory the peak counts here; how much it moves is shown.
    "$root/scripts/soak.sh" --watch $! "$run" "$run.$(date +%s).tsv" || true
    wait $! || status=$?
    [ "$status" = 0 ] || { echo "$1, $2: training ended with status $status" >&2; exit "$status"; }
    mv "$run.part" "$run.json"
}

for preset in ${PRESETS:-dblp yelp}; do
    mkdir -p "$out/$preset"
    corpus "$preset"
    epochs=epochs_$preset
    read -r stochastic full <<< "${!epochs}"
    train "$preset" stochastic "${BATCH:-50000}" "$stochastic"
    train "$preset" full full "$full"
done
python3 -B "$root/scripts/reproduce-scale.py" "$out" "${FIGURE:-$root/docs/scale.svg}"
