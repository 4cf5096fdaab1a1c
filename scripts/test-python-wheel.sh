#!/usr/bin/env bash
# Builds the Python package's sdist and wheel in target/python-wheels, installs each by pip alone in a fresh environment, and
# compares package and program there. By hand, as optimised builds take long; NOISYOR_PROFILE=dev is quicker.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
wheels=$CARGO_TARGET_DIR/python-wheels
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
step() { printf '\n== %s\n' "$*"; "$@"; }
pip() { "$folder/$1/bin/pip" "${@:2}" --quiet --disable-pip-version-check; }

python3 -m venv "$folder/tools"
pip tools install build
rm -rf "$wheels"
step "$folder/tools/bin/python" -m build --outdir "$wheels" --sdist python
step "$folder/tools/bin/python" -m build --outdir "$wheels" --wheel python
cd "$folder" # nothing beside the sources is found by accident
for made in "$wheels"/*; do
    name=$(basename "$made")
    python3 -m venv "$folder/$name"
    step pip "$name" install "$made"
    "$folder/$name/bin/python" "$root/scripts/test_python_wheel.py" "$root/data/sample"
done
# As a user without an environment.
name=$(basename "$wheels"/*.whl)
pip "$name" install --no-deps --target "$folder/target" "$wheels/$name"
pip "$name" uninstall --yes noisyor
PYTHONPATH=$folder/target "$folder/$name/bin/python" -m noisyor --version
du -h --apparent-size "$wheels"/*
echo "package and program were installed from sdist and wheel"
