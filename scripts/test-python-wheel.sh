#!/usr/bin/env bash
# Builds the Python package's wheel and sdist, and sees that each installs with pip alone and brings the program.
# They end in target/wheels. Release builds take long: this is run by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
wheels=$CARGO_TARGET_DIR/wheels
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
step() { printf '\n== %s\n' "$*"; "$@"; }

check() { # check NAME WHAT: pip installs WHAT in a fresh environment, and package and program work
    python3 -m venv "$folder/$1"
    step "$folder/$1/bin/pip" install --quiet --disable-pip-version-check "$2"
    (
        cd "$folder" # not beside the sources
        "$folder/$1/bin/noisyor" --version
        "$folder/$1/bin/python" -m noisyor --version
        "$folder/$1/bin/noisyor" infer "$root/data/sample/network.tsv" "$root/data/sample/corpus.jsonl.gz" \
            --shard 1/200 --backend cpu --quiet -o "$folder/$1.npz"
        cd "$folder/$1" && "$folder/$1/bin/python" - "$root" << 'PYTHON'
import gzip, json, sys
import noisyor
with gzip.open(f"{sys.argv[1]}/data/sample/corpus.jsonl.gz", "rt") as file:
    documents = [json.loads(line)["tokens"] for _, line in zip(range(100), file)]
q = noisyor.Model.load(f"{sys.argv[1]}/data/sample/network.tsv").infer(documents).to_csr()
print(f"noisyor {noisyor.__version__} from {noisyor.__file__}: {q.shape}, {q.nnz} topics are on")
assert q.nnz > 100
PYTHON
    )
}

python3 -m venv "$folder/tools"
"$folder/tools/bin/pip" install --quiet --disable-pip-version-check build
rm -rf "$wheels"
step "$folder/tools/bin/python" -m build --outdir "$wheels" --sdist python
step "$folder/tools/bin/python" -m build --outdir "$wheels" --wheel python
check wheel "$wheels"/noisyor-*.whl
size() { du -h --apparent-size "$1" | cut -f1; }
# From the sdist in an empty folder: nothing of this checkout is used.
check sdist "$wheels"/noisyor-*.tar.gz
"$folder/wheel/bin/pip" install --quiet --disable-pip-version-check --target "$folder/target" --no-deps "$wheels"/noisyor-*.whl
PYTHONPATH=$folder/target "$folder/wheel/bin/python" -m noisyor --version
echo "wheel $(size "$wheels"/noisyor-*.whl), sdist $(size "$wheels"/noisyor-*.tar.gz): package and program installed from both"
