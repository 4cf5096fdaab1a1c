#!/usr/bin/env bash
# What `noisyor plan` says against what `noisyor train` then does, back to back on the same input: seconds, CPU-seconds, peak memory,
# size of a checkpoint. Status 1 if the plan of CPU-seconds, memory or the checkpoint is off by more than a quarter (the clock depends on
# what else the machine does).
#   scripts/check-plan.sh CORPUS GRAPH [options of train...]
# NOISYOR names the program; by default the release build.
set -euo pipefail
program=${NOISYOR:-"$(dirname "$0")/../target/release/noisyor"}
corpus=$1 graph=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" plan "$corpus" --graph "$graph" --quiet --json "$@" > "$folder/plan.json"
/usr/bin/time -f '%e %U %S %M' -o "$folder/time" \
    "$program" train "$corpus" --graph "$graph" --patience 0 --quiet -o "$folder/run" "$@" > /dev/null
python3 - "$folder" "$corpus" "$*" <<'PYTHON'
import glob, json, os, sys
folder, corpus, options = sys.argv[1:]
plan = json.load(open(f"{folder}/plan.json"))
wall, user, system, peak_kb = map(float, open(f"{folder}/time").read().split())
checkpoint = max(os.path.getsize(path) for path in glob.glob(f"{folder}/run/checkpoint/*"))
metrics = [json.loads(line) for line in open(f"{folder}/run/metrics.jsonl")]
rows = [
    ("run, CPU-s", plan["time"]["total"]["cpu"], user + system),
    ("run, s", plan["time"]["total"]["wall"], wall),
    ("epoch, s", plan["time"]["epoch"]["wall"], sum(plan["train_docs"] / m["docs_per_s"] for m in metrics) / len(metrics)),
    ("memory, MB", plan["memory"]["total"] / 1e6, peak_kb * 1024 / 1e6),
    ("checkpoint, MB", plan["memory"]["checkpoint_file"] / 1e6, checkpoint / 1e6),
]
print(f"{corpus} {options} (rehearsed on {plan['sample_docs']} documents of {plan['distinct_docs']})")
print(f"{'':<16}{'plan':>10}{'run':>10}{'plan/run':>10}")
for what, planned, was in rows:
    print(f"{what:<16}{planned:>10.1f}{was:>10.1f}{planned / was:>10.2f}")
sys.exit(any(not 0.75 <= planned / was <= 1.25 for what, planned, was in rows if not what.endswith(", s")))
PYTHON
