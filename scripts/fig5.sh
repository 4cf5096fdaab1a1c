#!/usr/bin/env bash
# Reproduces Fig. 5 of Ji et al. 2019 on tiny 20 newsgroups, labels of documents from what models say of them: noisy-OR networks and
# Bernoulli LDA with 2 to 9 topics. scripts/fig5.sh DATA [--splits N]
# DATA is a folder with tiny20.svm.gz and vocab.txt. Writes docs/fig5.md and docs/fig5-accuracy.svg; runs and splits stay in target/fig5/.
# NOISYOR=path/to/noisyor takes that program instead of building one; THREADS=N (1) threads. Makes a Python environment below target/.
set -euo pipefail
usage="usage: $0 DATA [--splits N], DATA a folder with tiny20.svm.gz and vocab.txt"
data='' splits=5
while [ $# -gt 0 ]; do
    case $1 in
        --splits) splits=${2:?$usage}; shift ;;
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
source scripts/side-by-side.sh
out=target/fig5
rm -rf "$out"
mkdir -p "$out"
SECONDS=0
common=(--threads "${THREADS:-1}" --quiet)

# ROW SEED COMMAND...: trains on the training part, a tenth of it held out to stop by; then features of both parts.
run() {
    local run=$out/$1-$2 split=$out/split-$2
    "$NOISYOR" "${@:3}" "$split/train.corpus" --valid 0.1 --seed "$2" "${common[@]}" -o "$run" > "$run.txt"
    for part in train test; do
        "$NOISYOR" infer "$run" "$split/$part.corpus" --threshold 0 "${common[@]}" -o "$run/$part.npz"
    done
    "$NOISYOR" eval "$run" "$split/test.corpus" --json "${common[@]}" > "$run/score.json"
    echo "split $2: $1 done after $SECONDS s"
}

"$NOISYOR" corpus "$data/tiny20.svm.gz" --vocab "$data/vocab.txt" --quiet -o "$out/tiny20.corpus"
python3 -B scripts/reproduce-tiny20.py graph tests/golden/tiny20_peer.json "$out"
for ((seed = 0; seed < splits; seed++)); do
    "$NOISYOR" corpus split "$out/tiny20.corpus" --test 0.3 --seed "$seed" --quiet -o "$out/split-$seed"
    for bound in tail local; do
        run "em-$bound" "$seed" train --graph "$out/graph.json" --batch full --epochs 100 --bound "$bound" --backend cpu
        run "learned-$bound" "$seed" train --topics 33,11 --max-edges 707 --refine --bound "$bound" --backend cpu
    done
    run default "$seed" train --backend cpu
    for topics in 2 3 4 5 6 7 8 9; do
        run "lda-$topics" "$seed" baseline lda --topics "$topics"
    done
done
"${python[@]}" scripts/fig5.py "$out" "$splits" docs/fig5-accuracy.svg > docs/fig5.md
cat docs/fig5.md
echo "done after $SECONDS s: docs/fig5.md, docs/fig5-accuracy.svg"
