#!/usr/bin/env bash
# Ranks of MPI: training and inference on 1, 2, 3 and 4 ranks have the bytes of one process; ranks are killed, stopped and cut off, and
# the job ends within 30 seconds and goes on with another number of ranks. Status 1 if anything failed.
#   scripts/test-mpi.sh [KILLS] [SEED] [PART...]      20, 0, and same lost mpich hosts
# Installs Open MPI and MPICH where they are missing (Debian, Ubuntu). Several hosts are network namespaces, which need root. Works in
# target/mpi; what failed stays there.
set -euo pipefail
cd "$(dirname "$0")/.."

install() { # install COMMAND PACKAGE...
    command -v "$1" > /dev/null && return
    shift
    local sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "installing $*"
    $sudo apt-get update -q
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"
}

install mpicc.openmpi openmpi-bin libopenmpi-dev
install mpicc.mpich mpich libmpich-dev
install ip iproute2
mpirun.openmpi --version | head -1
mpirun.mpich --version | sed -n 's/ *Version: */MPICH /p'

# Without what MPI has nothing to do with, and not optimised across crates: building is the longest part otherwise.
export CARGO_PROFILE_RELEASE_LTO=off
target=${CARGO_TARGET_DIR:-target}/mpi-build
build() { # build NAME FEATURES
    cargo build --release --locked --no-default-features --features "$2" --target-dir "$target"
    cp "$target/release/noisyor" "$target/noisyor-$1"
}
build plain cli
MPICC=mpicc.openmpi build openmpi cli,mpi
MPICC=mpicc.mpich build mpich cli,mpi

exec python3 -B scripts/mpi "$target/noisyor-openmpi" "$target/noisyor-mpich" "$target/noisyor-plain" "${1:-20}" "${2:-0}" "${@:3}"
