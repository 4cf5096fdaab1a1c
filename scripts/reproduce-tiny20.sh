#!/usr/bin/env bash
# Reproduces Table 2 and Fig. 4 of Ji et al. 2019 on tiny 20 newsgroups: scripts/reproduce-tiny20.sh DATA
# DATA is a folder with tiny20.svm.gz (a document a line) and vocab.txt (a word a line). Writes docs/tiny20.md and
# docs/fig4-c-sweep.svg; runs and splits stay in target/reproduce-tiny20/. About 20 minutes on two cores.
# NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
if [ $# -ne 1 ] || ! [ -r "$1/tiny20.svm.gz" ] || ! [ -r "$1/vocab.txt" ]; then
    echo "usage: $0 DATA, a folder with tiny20.svm.gz and vocab.txt" >&2
    exit 2
fi
data=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
out=target/reproduce-tiny20
noisyor=${NOISYOR:-$PWD/target/release/noisyor}
[ -n "${NOISYOR:-}" ] || cargo build --release --quiet
rm -rf "$out"
mkdir -p "$out"
SECONDS=0
TIMEFORMAT='%R %U' # of `time`: seconds, CPU-seconds

# Whatever is chosen while training is chosen on a tenth of the training part; the test part is for `score` alone.
train() { # ROW SEED OPTIONS...: trains on the split of the seed
    local run=$out/$1-$2
    { time "$noisyor" train "$out/split-$2/train.corpus" --valid 0.1 --seed "$2" --backend cpu --quiet --json \
        -o "$run" "${@:3}" > "$run.json" 2>&3; } 3>&2 2> "$run.times"
    score "$1" "$2" "$run/model.safetensors"
}
score() { # ROW SEED MODEL: the three bounds of the test part, and its log-likelihood by sampling
    mkdir -p "$out/$1-$2"
    for bound in local tail full; do
        "$noisyor" eval "$3" "$out/split-$2/test.corpus" --bound "$bound" --backend cpu --quiet --json \
            > "$out/$1-$2/$bound.json"
    done
    "$noisyor" eval "$3" "$out/split-$2/test.corpus" --likelihood=5 --backend cpu --quiet --json > "$out/$1-$2/likelihood.json"
    echo "split $2: $1 done after $SECONDS s"
}
on_graph() { train "$@" --graph "$out/graph.json"; }

# Table 2. A graph learned from the training part, with the paper's number of topics and edges:
learned() {
    train learned-start "$1" --topics 33,11 --max-edges 707 --steps 0
    train learned-local "$1" --topics 33,11 --max-edges 707 --refine --bound local
    train learned "$1" --topics 33,11 --max-edges 707 --refine
}
# The graph of Dedieu et al., weights from scratch. Settings were chosen by the mean validation bound of the five splits.
adam=(--step adam --rate 0.02 --epochs 200 --patience 0 --eval-every 5)
fixed() {
    score their-start "$1" "$out/start.json"
    on_graph our-start "$1" --steps 0
    on_graph adam-local "$1" "${adam[@]}" --bound local
    on_graph adam "$1" "${adam[@]}"
    on_graph em "$1" --batch full --epochs 100 --patience 0
}

"$noisyor" corpus "$data/tiny20.svm.gz" --vocab "$data/vocab.txt" --quiet -o "$out/tiny20.corpus"
python3 -B scripts/reproduce-tiny20.py graph tests/golden/tiny20_peer.json "$out"
for seed in 0 1 2 3 4; do
    "$noisyor" corpus split "$out/tiny20.corpus" --test 0.3 --seed "$seed" --quiet -o "$out/split-$seed"
    fixed "$seed"
    learned "$seed"
done

# Fig. 4: full batches, the bound of the held-out 30 % against epochs. Nothing is chosen by it.
curve() { # NAME OPTIONS...
    local run=$out/curve-$1
    # A rate that is too large may end in weights that are no numbers (status 5): the curve up to there counts.
    "$noisyor" train "$out/tiny20.corpus" --graph "$out/graph.json" --valid 0.3 --batch full --epochs 200 --patience 0 \
        --backend cpu --quiet -o "$run" "${@:2}" > "$run.txt" 2>&1 || [ $? -eq 5 ]
    echo "curve $1 done after $SECONDS s"
}
curve em
for rate in 0.001 0.01; do
    for c in 1 10 100 1000 10000; do
        curve "$rate-$c" --step paper --rate "$rate" --c "$c"
    done
done
python3 -B scripts/reproduce-tiny20.py plot "$out" docs/fig4-c-sweep.svg
python3 -B scripts/reproduce-tiny20.py table "$out" "$SECONDS" | tee docs/tiny20.md

# Table 2 with all rows, MCMC included, and the curve of MCMC in Fig. 6: docs/table2.md. Labels, Fig. 5: docs/fig5.md.
NOISYOR=$noisyor scripts/table2.sh "$data"
NOISYOR=$noisyor scripts/fig5.sh "$data"
