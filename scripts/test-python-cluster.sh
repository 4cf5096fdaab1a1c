#!/usr/bin/env bash
# Topics on Spark (a master, two workers) and Ray (two nodes), all on this machine; one worker of each is killed while
# it works, and the result is compared with the program's. By hand; installs what is missing into target/cluster-venv.
# WHEEL=path takes that wheel of the package instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
venv=$CARGO_TARGET_DIR/cluster-venv
wheels=$CARGO_TARGET_DIR/python-wheels
pip() { "$venv/bin/pip" "$@" --quiet --disable-pip-version-check; }

command -v java > /dev/null || {
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -q
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends openjdk-17-jre-headless
}
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
if [ -z "${WHEEL:-}" ]; then
    pip wheel --no-deps --wheel-dir "$wheels" ./python
    WHEEL=$(ls -t "$wheels"/noisyor-*.whl | head -n 1)
fi
pip install pyspark==4.3.0 "ray[data]==2.60.0" pyarrow==26.0.1 pytest "$WHEEL"
pip install --force-reinstall --no-deps "$WHEEL" # another build has the same version

# Tests must find the installed package and not the folder.
run_tests() { "$venv/bin/pytest" -q -s -p no:cacheprovider -W ignore::FutureWarning "$@"; }
export PYSPARK_PYTHON="$venv/bin/python" # that of the workers
export RAY_AUTH_MODE=disabled RAY_USAGE_STATS_ENABLED=0 # nothing leaves this machine
run_tests python/tests_cluster/test_spark.py
run_tests python/tests_cluster/test_ray.py
run_tests python/tests/test_documents.py -k spark
