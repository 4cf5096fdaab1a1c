#!/usr/bin/env bash
# Memory of a long training: samples it every five seconds, and compares the time after warm-up with the end.
#   scripts/soak.sh [MINUTES] [DIR]           trains on the yelp preset in mini-batches, a checkpoint a minute, for an hour
#   scripts/soak.sh --watch PID RUN FILE.tsv  watches the process that trains in the folder RUN, until it ends
# Warm-up are ten minutes (WARM_UP=seconds) and two epochs with their evaluations: by then all that is ever allocated was once. Samples
# are FILE.tsv (DIR/memory.tsv): seconds, evaluations so far, and total, anonymous, mapped and peak resident memory in kB. Status 1 if
# total memory moved by more than 1 %, from the mean of the first five minutes after warm-up to that of the last five (a tenth of the
# samples each where there are fewer). DIR [default: target/soak] keeps the corpus, which may have another size (DOCS=20000 WARM_UP=60
# scripts/soak.sh 5 DIR), as may the batches (BATCH=50000). NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail

field() { awk -v name="$1:" '$1 == name { print $2 }' <<< "$2"; }

watch() { # PID RUN FILE [SECONDS]: after these the process is told to stop
    local begin=$SECONDS left=${4:-} status evaluations
    printf 'seconds\tevaluations\ttotal\tanonymous\tmapped\tpeak\n' > "$3"
    while status=$(cat "/proc/$1/status" 2> /dev/null) && [ -n "$(field VmRSS "$status")" ]; do
        evaluations=$({ cat "$2/metrics.jsonl" 2> /dev/null || true; } | wc -l)
        printf '%d\t%d\t%d\t%d\t%d\t%d\n' $((SECONDS - begin)) "$evaluations" "$(field VmRSS "$status")" \
            "$(field RssAnon "$status")" "$(field RssFile "$status")" "$(field VmHWM "$status")" >> "$3"
        if [ -n "$left" ] && [ $((SECONDS - begin)) -ge "$left" ]; then
            kill -TERM "$1"
            left=
        fi
        sleep "${SAMPLE_EVERY:-5}"
    done
}

report() { # FILE
    awk -F '\t' -v warm_up="${WARM_UP:-600}" '
        function compare(name, values,    at, low, high, first, last) {
            low = high = values[1]
            for (at = 1; at <= n; at++) {
                if (values[at] < low) low = values[at]
                if (values[at] > high) high = values[at]
                if (at <= window) first += values[at] / window
                if (at > n - window) last += values[at] / window
            }
            drift = 100 * (last - first) / (first > 0 ? first : 1)
            printf "%-10s min %.1f MB, max %.1f MB, from %.1f MB to %.1f MB: %+.2f %%\n", name, low / 1000, high / 1000, first / 1000, last / 1000, drift
            return drift
        }
        NR > 1 { peak = $6; time = $1 }
        NR > 1 && $2 > 1 && $1 >= warm_up { if (!n) begin = $1; n++; total[n] = $3; anonymous[n] = $4; if ($1 <= begin + 300) in_time = n }
        END {
            if (n < 20) { printf "only %d samples after warm-up: too few to compare\n", n; exit 1 }
            window = int(n / 10) < in_time ? int(n / 10) : in_time
            printf "%d seconds, %d of them after warm-up; peak %.1f MB\n", time, time - begin, peak / 1000
            moved = compare("total", total)
            compare("anonymous", anonymous)
            exit (moved > 1 || moved < -1)
        }' "$1"
}

if [ "${1:-}" = --watch ]; then
    [ $# -eq 4 ] || { echo "usage: $0 --watch PID RUN FILE.tsv" >&2; exit 2; }
    [ -e "/proc/$2" ] || { echo "there is no process $2" >&2; exit 2; }
    watch "$2" "$3" "$4"
    report "$4"
    exit
fi

minutes=${1:-60}
[[ "$minutes" =~ ^[1-9][0-9]*$ ]] || { echo "usage: $0 [MINUTES] [DIR]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
dir=${2:-$root/target/soak}
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --locked --manifest-path "$root/Cargo.toml"
    NOISYOR=$root/target/release/noisyor
fi
mkdir -p "$dir"
if ! [ -e "$dir/corpus.noisyor" ]; then
    "$NOISYOR" synth --preset yelp ${DOCS:+--docs "$DOCS"} -o "$dir/yelp"
    mv "$dir/yelp/network.safetensors" "$dir"
    "$NOISYOR" corpus "$dir/yelp/corpus.svm" --vocab "$dir/network.safetensors" -o "$dir/corpus.noisyor"
    rm -r "$dir/yelp"
fi
rm -rf "$dir/run"
"$NOISYOR" train "$dir/corpus.noisyor" --graph "$dir/network.safetensors" --init data --valid 0.02 --patience 0 --epochs 1000000 \
    ${BATCH:+--batch "$BATCH"} --checkpoint-minutes 1 --backend cpu --quiet -o "$dir/run" > "$dir/run.txt" &
process=$!
trap 'kill "$process" 2> /dev/null || true' EXIT
watch "$process" "$dir/run" "$dir/memory.tsv" $((60 * minutes))
status=0
wait "$process" || status=$?
[ "$status" = 130 ] || { echo "training ended with status $status, not by the signal at the end" >&2; exit 1; }
report "$dir/memory.tsv"
