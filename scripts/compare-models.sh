#!/usr/bin/env bash
# Held-out likelihood, cost and labels of noisyor beside mixtures of Bernoullis, independent tokens, LDA and raw words: one table.
#   scripts/compare-models.sh DATA_DIR [options; --help lists them]
# DATA_DIR has debian/packages.tsv.gz (ids, labels, texts), tiny20/tiny20.svm.gz and tiny20/vocab.txt, and debd/SET.PART.csv.gz of
# bbc, baudio and plants with their parts train, valid and test; --sets takes some of them only. Rows are printed as they come, and
# written to target/compare-models/rows.jsonl, in place of those of the last run.
# NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
if [ $# -eq 0 ]; then
    echo "error: no data given; usage: scripts/compare-models.sh DATA_DIR [options]" >&2
    exit 2
fi
. "$(dirname "$0")/side-by-side.sh"
exec "${python[@]}" "$root/scripts/compare_models.py" --noisyor "$NOISYOR" --work "$root/target/compare-models" "$@"
