#!/usr/bin/env bash
# Reports opened in Chromium, and used: the sample, a model with odd names, and one of 49,543 topics.
#   scripts/browser-test.sh [--quick] [--screenshots]
# --quick leaves out the large model; --screenshots writes docs/report-*.png anew.
# NOISYOR=path/to/noisyor takes that program instead of building one; SLOW=3 lets every step take three times as long.
set -euo pipefail
cd "$(dirname "$0")/.."
quick="" pictures=""
for argument in "$@"; do
    case "$argument" in
        --quick) quick=1 ;;
        --screenshots) pictures=1 ;;
        *) echo "unknown option $argument; there are --quick and --screenshots" >&2; exit 2 ;;
    esac
done

missing=""
command -v chromium > /dev/null || missing="chromium"
command -v chromedriver > /dev/null || missing="$missing chromium-driver"
command -v python3 > /dev/null || missing="$missing python3"
if [ -n "$missing" ]; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "installing $missing"
    $sudo apt-get update -q
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $missing
fi
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --quiet
    NOISYOR=target/release/noisyor
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check() { python3 scripts/browser/check.py --slow "${SLOW:-1}" "$@"; }

"$NOISYOR" train -q --backend cpu --epochs 12 -o "$work/sample" > /dev/null
"$NOISYOR" report "$work/sample" -q --backend cpu --calibration=50 -o "$work/sample.html" --title "The bundled sample" > /dev/null
"$NOISYOR" model convert -q "$work/sample/model.safetensors" "$work/sample.json" > /dev/null
name=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["topics"][17])' "$work/sample.json")
check "$work/sample.html" --search "$name" 17 "$name" ${pictures:+--screenshots docs --picture-topic 17}

mkdir "$work/odd"
python3 scripts/browser/odd_names.py "$work/odd"
"$NOISYOR" report "$work/odd/model.json" --corpus "$work/odd/docs.jsonl" -q --backend cpu -o "$work/odd.html" > /dev/null
check "$work/odd.html" --searches "$work/odd/searches.json"
[ -z "$quick" ] || exit 0

"$NOISYOR" synth -q --preset dblp --docs 2000 -o "$work/dblp" > /dev/null
"$NOISYOR" train -q --backend cpu "$work/dblp/corpus.svm" --graph "$work/dblp/network.safetensors" --init graph --epochs 1 --steps 1 -o "$work/large" > /dev/null
"$NOISYOR" report "$work/large" -q --backend cpu -o "$work/large.html" > /dev/null
check "$work/large.html" --search t49003 49003 t49003
