#!/usr/bin/env bash
# Draws docs/curves.svg: the held-out bound against time on the bundled sample, for the three weight steps.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
cargo build --release --quiet
# All from the same random start on the graph that the sample comes with.
train() { ./target/release/noisyor train --graph data/sample/network.tsv --quiet --patience 0 --epochs 30 -o "$runs/$1" "${@:2}" > "$runs/log"; }
train em
train em-full --batch full
train adam --step adam
train paper --step paper
python3 -B scripts/curves.py docs/curves.svg \
    "EM, mini-batches=$runs/em" "EM, full batch=$runs/em-full" "Adam=$runs/adam" "the paper's step=$runs/paper"
