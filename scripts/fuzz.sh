#!/usr/bin/env bash
# Fuzzes the readers of corpora, models and graphs, two targets at a time (NOISYOR_FUZZ_JOBS); status 1 if anything is found.
# fuzz.sh SECONDS [TARGET...]
# Needs a nightly toolchain, or else unlocks the usual one. What is found goes to fuzz/artifacts, inputs that reach new
# code to fuzz/corpus, what the fuzzer says to fuzz/logs.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 1 ] && [[ "$1" =~ ^[0-9]+$ ]] || { echo "usage: $0 SECONDS [TARGET...]" >&2; exit 2; }
seconds="$1"
shift
command -v cargo-fuzz > /dev/null || cargo install cargo-fuzz --locked
if cargo +nightly --version > /dev/null 2>&1; then
    fuzz() { cargo +nightly fuzz "$@"; }
else
    export RUSTC_BOOTSTRAP=1
    fuzz() { cargo fuzz "$@"; }
fi
all=$(fuzz list)
targets=${*:-$all}
for target in $targets; do
    grep -qx "$target" <<< "$all" || { echo "no target '$target'; there are:" $all >&2; exit 2; }
done

# NOISYOR_FUZZ_SANITIZER=none is faster, but does not see what unsafe code of libraries does.
sanitizer="${NOISYOR_FUZZ_SANITIZER:-address}"
echo "building"
if [ $# = 0 ]; then
    fuzz build --sanitizer "$sanitizer"
else
    for target in $targets; do fuzz build --sanitizer "$sanitizer" "$target"; done
fi
triple=$(rustc -vV | sed -n 's/^host: //p')
bin="fuzz/target/$triple/release"

# Formats that are not read from front to back are copied to a temporary file first.
[ -d /dev/shm ] && export TMPDIR=/dev/shm
# One thread tokenises: the inputs are small, and other targets run side by side.
export RAYON_NUM_THREADS=1
# Freed memory is soon used again, which is faster; leaks are not looked for, as no code here manages memory by hand.
export ASAN_OPTIONS="quarantine_size_mb=8:detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
mkdir -p fuzz/logs

dictionary() { # dictionary TARGET
    case "$1" in
        svmlight | uci | matrix_market | dense) echo numbers ;;
        jsonl | model_json) echo json ;;
        model_safetensors) echo safetensors ;;
        parquet | npz | native) echo "$1" ;;
        *) echo table ;;
    esac
}

run() { # run TARGET
    local artifacts="fuzz/artifacts/$1/"
    mkdir -p "$artifacts" "fuzz/corpus/$1"
    # Only what this run finds counts.
    rm -f "$artifacts"*
    "$bin/$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -detect_leaks=0 -print_final_stats=1 \
        -dict="fuzz/dict/$(dictionary "$1").dict" -artifact_prefix="$artifacts" \
        "fuzz/corpus/$1" "fuzz/seeds/$1" > "fuzz/logs/$1.log" 2>&1 || true
}

trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
for target in $targets; do
    while [ "$(jobs -rp | wc -l)" -ge "${NOISYOR_FUZZ_JOBS:-2}" ]; do wait -n; done
    echo "$(date +%T) $target"
    run "$target" &
done
wait

found=0
number() { grep -aoE "$2" "fuzz/logs/$1.log" | tail -1 | grep -oE '[0-9]+$' || echo '?'; }
printf '\n%-18s %12s %8s %8s %9s %9s\n' target executions exec/s inputs features findings
for target in $targets; do
    findings=$(find "fuzz/artifacts/$target" -type f | wc -l)
    # A run that did not end as it should has found something, too.
    grep -aq '^Done ' "fuzz/logs/$target.log" || [ "$findings" -gt 0 ] || findings=1
    found=$((found + findings))
    printf '%-18s %12s %8s %8s %9s %9s\n' "$target" "$(number "$target" 'number_of_executed_units: [0-9]+')" \
        "$(number "$target" 'average_exec_per_sec: +[0-9]+')" "$(find "fuzz/corpus/$target" -type f | wc -l)" \
        "$(number "$target" ' ft: [0-9]+')" "$findings"
done
if [ "$found" -gt 0 ]; then
    for target in $targets; do find "fuzz/artifacts/$target" -type f; done
    exit 1
fi
