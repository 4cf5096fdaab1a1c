#!/usr/bin/env bash
# Topics on Spark (a master, two workers) and Ray (two nodes), all on this machine; one worker of each is killed while
# it works, and the result is compared with the program's. Installs what is missing into target/cluster-venv.
# WHEEL=path takes that wheel of the package instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
venv=$target/cluster-venv
command -v java > /dev/null || {
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -q
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends openjdk-17-jre-headless
}
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
pip() { "$venv/bin/pip" --quiet --disable-pip-version-check "$@"; }
if [ -z "${WHEEL:-}" ]; then
    pip wheel --no-deps --wheel-dir "$target/wheels" ./python
    WHEEL=$(ls -t "$target"/wheels/noisyor-*.whl | head -n 1)
fi
pip install pyspark==4.3.0 "ray[data]==2.60.0" pyarrow==26.0.1 pytest
pip install --force-reinstall --no-deps "$WHEEL"
pip install "$WHEEL"
export RAY_AUTH_MODE=disabled RAY_USAGE_STATS_ENABLED=0
for tests in tests_cluster/test_spark.py tests_cluster/test_ray.py "tests/test_documents.py -k spark"; do
    # shellcheck disable=SC2086
    "$venv/bin/python" -m pytest -q -s -p no:cacheprovider --rootdir python python/$tests
done
