#!/usr/bin/env bash
# Writes tests/fixtures/interop anew with the usual Python tools, then opens what noisyor writes with them.
# NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=target/interop-venv
outputs=$(mktemp -d)
trap 'rm -rf "$outputs"' EXIT

[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check \
    numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 gensim==4.4.0 pyarrow==26.0.1 safetensors==0.8.0 tensorboard==2.21.0
"$venv/bin/python" scripts/interop.py --write tests/fixtures/interop

if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --quiet
    NOISYOR=target/release/noisyor
fi
"$NOISYOR" train --steps 25 --tensorboard --quiet --backend cpu -o "$outputs/run" > /dev/null
mv "$outputs/run/model.safetensors" "$outputs"
"$NOISYOR" model convert "$outputs/model.safetensors" "$outputs/model.json" --quiet
touch "$outputs/none.jsonl"
gzip -dc data/sample/corpus.jsonl.gz | sed -n 1,20p > "$outputs/docs.jsonl"
printf '%s\n' '{"id": "ünïcode ☃\t\"", "tokens": ["no such word"]}' '{"tokens": []}' >> "$outputs/docs.jsonl"
for extension in jsonl parquet npz; do
    infer() { "$NOISYOR" infer "$outputs/model.safetensors" "$outputs/$1.jsonl" -o "$outputs/$2.$extension" --quiet "${@:3}"; }
    infer docs some
    infer docs all --threshold 0 --bound full
    infer none empty
done
"$venv/bin/python" scripts/interop.py --check "$outputs"
