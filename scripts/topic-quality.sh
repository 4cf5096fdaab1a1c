#!/usr/bin/env bash
# Topic quality on labelled documents: noisyor, LDA and raw words side by side, as a Markdown table.
#   scripts/topic-quality.sh DATA_FILE [options; --help lists them]
# DATA_FILE is a table with ids, labels and texts in its first three columns, or what --corpus-args makes of it.
# NOISYOR=path/to/noisyor takes that program instead of building one.
set -euo pipefail
if [ $# -eq 0 ]; then
    echo "error: no documents given; usage: scripts/topic-quality.sh DATA_FILE [options]" >&2
    exit 2
fi
. "$(dirname "$0")/side-by-side.sh"
exec "${python[@]}" "$root/scripts/topic_quality.py" --noisyor "$NOISYOR" --work "$root/target/topic-quality" "$@"
