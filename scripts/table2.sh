#!/usr/bin/env bash
# Reproduces all of Table 2 of Ji et al. 2019 on tiny 20 newsgroups, VI and MCMC, full and local, and the falling curve of MCMC in
# its Fig. 6: scripts/table2.sh DATA [--splits N] [--quick]
# DATA is a folder with tiny20.svm.gz and vocab.txt. Writes docs/table2.md, docs/fig6-mcmc.tsv and docs/fig6-mcmc.svg; runs and splits
# stay in target/table2/. --quick: one split, few epochs and short chains, to see that it works; its page and figure stay in
# target/table2/. NOISYOR=path/to/noisyor takes that program instead of building one; THREADS=N (1) threads.
set -euo pipefail
usage="usage: $0 DATA [--splits N] [--quick], DATA a folder with tiny20.svm.gz and vocab.txt"
data='' splits=5 epochs=100 flips=100000 docs=docs
while [ $# -gt 0 ]; do
    case $1 in
        --splits) splits=${2:?$usage}; shift ;;
        --quick) splits=1 epochs=5 flips=1000 docs=target/table2 ;;
        *) data=$1 ;;
    esac
    shift
done
if ! [ -r "$data/tiny20.svm.gz" ] || ! [ -r "$data/vocab.txt" ]; then
    echo "$usage" >&2
    exit 2
fi
data=$(cd "$data" && pwd)
cd "$(dirname "$0")/.."
out=target/table2
noisyor=${NOISYOR:-$PWD/target/release/noisyor}
[ -n "${NOISYOR:-}" ] || cargo build --release --quiet
rm -rf "$out"
mkdir -p "$out"
SECONDS=0
TIMEFORMAT='%R %U' # of `time`: seconds, CPU-seconds
common=(--backend cpu --threads "${THREADS:-1}" --quiet --json)

score() { # ROW SEED MODEL: mean field's bounds of the test part, and what chains in the full and the local model say
    local folder=$out/$1-$2 test=$out/split-$2/test.corpus
    mkdir -p "$folder"
    "$noisyor" eval "$3" "$test" --bound local "${common[@]}" > "$folder/local.json"
    "$noisyor" eval "$3" "$test" --bound full --likelihood="mcmc:$flips" "${common[@]}" > "$folder/full.json"
    if [ "$1" = mcmc-local ]; then
        "$noisyor" eval "$3" "$test" --likelihood="mcmc:$flips" --mcmc-model local "${common[@]}" > "$folder/chain-local.json"
    fi
    echo "split $2: $1 done after $SECONDS s"
}
# All rows start from the weights of Dedieu et al. on their graph; the last weights count, so nothing is held out.
train() { # ROW SEED OPTIONS...
    local run=$out/$1-$2
    { time "$noisyor" train "$out/split-$2/train.corpus" --graph "$out/start.json" --init graph --valid 0 --seed "$2" --epochs "$epochs" \
        "${common[@]}" -o "$run" "${@:3}" > "$run.json" 2>&3; } 3>&2 2> "$run.times"
    score "$1" "$2" "$run/model.safetensors"
}

"$noisyor" corpus "$data/tiny20.svm.gz" --vocab "$data/vocab.txt" --quiet -o "$out/tiny20.corpus" > "$out/corpus.txt"
python3 -B scripts/reproduce-tiny20.py graph tests/golden/tiny20_peer.json "$out"
# Fig. 6: the bound (full) of a held-out 30 % against epochs, in batches of a tenth. Nothing is chosen by it.
curve() { # NAME OPTIONS...
    "$noisyor" train "$out/tiny20.corpus" --graph "$out/start.json" --init graph --valid 0.3 --epochs "$epochs" --patience 0 --bound full \
        "${common[@]}" -o "$out/curve-$1" "${@:2}" > "$out/curve-$1.json"
    echo "curve $1 done after $SECONDS s"
}
curve vi
curve mcmc --step mcmc
curve mcmc-local --step mcmc --mcmc-model local

# Table 2.
for ((seed = 0; seed < splits; seed++)); do
    "$noisyor" corpus split "$out/tiny20.corpus" --test 0.3 --seed "$seed" --quiet -o "$out/split-$seed" > "$out/split.txt"
    score start "$seed" "$out/start.json"
    train vi "$seed" --bound full
    train vi-local "$seed" --bound local
    train mcmc "$seed" --step mcmc
    train mcmc-local "$seed" --step mcmc --mcmc-model local
done
python3 -B scripts/table2.py plot "$out" "$docs/fig6-mcmc.tsv" "$docs/fig6-mcmc.svg"
python3 -B scripts/table2.py table "$out" "$splits" "$epochs" "$flips" "$SECONDS" | tee "$out/table2.md"
[ "$docs" = target/table2 ] || cp "$out/table2.md" "$docs/table2.md"
