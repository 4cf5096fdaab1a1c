#!/usr/bin/env bash
# Compiles the library for 64-bit Arm and runs tests of the E-step under QEMU; status 1 unless all of this holds:
# - the tests pass, and what the CPU backend computes has the same fingerprints, bit for bit, as on this machine,
# - the hot functions multiply and add four numbers at a time (NEON) and call no fmaf.
# Installs what it needs (Debian, Ubuntu; a toolchain of rustup). About 10 minutes of CPU time from clean.
set -euo pipefail
cd "$(dirname "$0")/.."

triple=aarch64-unknown-linux-gnu
missing=""
command -v qemu-aarch64 > /dev/null || missing="$missing qemu-user"
command -v aarch64-linux-gnu-gcc > /dev/null || missing="$missing gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
if [ -n "$missing" ]; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "installing$missing"
    $sudo apt-get update -q
    # shellcheck disable=SC2086 # several packages
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $missing
fi
rustup target add "$triple"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
run() { # run NAME ARGUMENTS: the tests there, what they print in a file
    echo "tests: $1"
    cargo test "${@:2}" --test library -- properties::instructions properties::extremes golden:: --nocapture \
        > "$logs/$1" 2>&1 || { cat "$logs/$1" >&2; exit 1; }
    grep '^test result' "$logs/$1"
    grep '^fingerprint' "$logs/$1" | sort > "$logs/$1.fingerprints"
}
run here
run "$triple" --target "$triple" --no-default-features
[ -s "$logs/here.fingerprints" ] || { echo "the tests print no fingerprints" >&2; exit 1; }
diff "$logs/here.fingerprints" "$logs/$triple.fingerprints" || { echo "the bytes differ" >&2; exit 1; }

program=$(sed -n 's/.*Running .*(\(target.*\))$/\1/p' "$logs/$triple")
aarch64-linux-gnu-objdump -d --no-show-raw-insn --demangle "$program" > "$logs/code"
count() { # count FUNCTION PATTERN: instructions of the CPU backend's function that match
    awk -v function_name="estep::cpu::$1" '/^[0-9a-f]+ </ { inside = index($0, function_name) } inside' "$logs/code" \
        | grep -cE "$2" || true
}
# `reduce::upper_terms` is inlined where it is called.
for function in document::solve_from greedy::climb "CpuEStep as noisyor::estep::EStep>::run_packed"; do
    four=$(count "$function" '\sfml[as]\s+v[0-9]+\.4s')
    one=$(count "$function" '\sfn?m(add|sub)\s+s[0-9]')
    calls=$(count "$function" '\sbl?\s.*<fmaf')
    echo "$function: $four fused multiply-adds of four numbers, $one of one, $calls calls of fmaf"
    [ "$four" -gt 0 ] && [ "$calls" = 0 ] || { echo "$function is not compiled for NEON" >&2; exit 1; }
done
echo "aarch64: $(wc -l < "$logs/here.fingerprints") fingerprints equal to those of $(uname -m), hot functions use NEON"
