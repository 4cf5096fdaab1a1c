#!/usr/bin/env bash
# Tests of the Python package: scripts/test-python.sh [PYTEST OPTIONS]. Sets up its own environment in target/python.
# The extension is built beside the program, in the profile of the tests, so that the library is compiled once for both.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
environment=$target/python-venv
python=$environment/bin/python
packages="numpy scipy scikit-learn pandas polars pyarrow tqdm networkx joblib pytest mypy pandas-stubs types-networkx typing-extensions"

step() { printf '\n== %s\n' "$*"; "$@"; }

base=${PYTHON:-python3}
"$base" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed: set PYTHON" >&2; exit 1; }
[ -x "$python" ] || step "$base" -m venv "$environment"
if [ "$(cat "$environment/packages" 2> /dev/null)" != "$packages" ]; then
    # shellcheck disable=SC2086 # a list of packages
    step "$python" -m pip install --quiet --disable-pip-version-check $packages
    echo "$packages" > "$environment/packages"
fi

# What maturin would put there; see python/pyproject.toml.
export PYO3_BUILD_EXTENSION_MODULE=1 # as maturin has it: without libpython
step cargo build --locked -p noisyor -p noisyor-python
case $(uname) in
    Darwin) library=lib_core.dylib ;;
    *) library=lib_core.so ;;
esac
# A process may have the old one mapped: it is replaced, not overwritten.
rm -f python/noisyor/_core.abi3.so
cp "$target/debug/$library" python/noisyor/_core.abi3.so

export NOISYOR=$target/debug/noisyor PYTHONPATH=$PWD/python
cd python
step "$python" -m mypy
step "$python" -m mypy.stubtest noisyor._core --mypy-config-file pyproject.toml
step "$python" -m pytest -q -rs "$@"
# Spark and Ray are installed by scripts/test-python-cluster.sh.
step "$python" -m pytest -q --doctest-modules noisyor --ignore noisyor/spark.py --ignore noisyor/ray.py
echo "the Python package passed all tests"
