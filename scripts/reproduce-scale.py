#!/usr/bin/env python3
"""The figure and the table of scripts/reproduce-scale.sh: reproduce-scale.py DIR [FIGURE.svg] (no packages needed)."""
import glob
import json
import math
import os
import sys

import svg

PRESETS, NEAR = ["dblp", "yelp"], 0.5
RUNS = [("stochastic", "#1b6ca8"), ("full", "#e76f51")]
TRUTH = "#6c757d"
PANEL, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 450, 400, 66, 16, 40, 100


class Run:
    """A run that has ended, as its files tell."""

    def __init__(self, path):
        rows = [json.loads(line) for line in open(f"{path}/metrics.jsonl")]
        config, result = json.load(open(f"{path}/config.json")), json.load(open(f"{path}.json"))
        self.curve = [(row["epoch"], row["valid_elbo"]) for row in rows]
        self.bound, self.seconds = rows[0]["bound"], rows[-1]["seconds"]
        self.n_docs, self.n_batches = config["run"]["train_docs"], config["run"]["batches_per_epoch"]
        self.n_topics, self.n_edges, self.truth = result["topics"], result["edges"], result["graph_weights_elbo"]
        self.epochs, self.best = self.curve[-1][0], max(bound for _, bound in self.curve)
        # A run that was resumed has a file of samples for each process.
        samples = [line.split("\t")[5] for file in glob.glob(f"{path}.*.tsv") for line in open(file)]
        self.peak = max((int(peak) for peak in samples if peak.strip().isdigit()), default=math.nan)

    def epochs_to(self, bound):
        """Epochs until the held-out bound was at least this."""
        return next((f"{epoch:.0f}" for epoch, value in self.curve if value >= bound), f"not in {self.epochs:.0f}")


def read(out):
    """The runs that are there, by preset."""
    found = {}
    for preset in PRESETS:
        runs = {name: Run(f"{out}/{preset}/{name}") for name, _ in RUNS if os.path.exists(f"{out}/{preset}/{name}.json")}
        if runs:
            found[preset] = runs
    return found


def table(presets):
    print("| preset | training documents | topics | edges | batch | epochs | seconds an epoch | documents/s | peak resident MB |"
          f" best held-out bound | epochs to within {NEAR} of the best of all |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for preset, runs in presets.items():
        best = max(run.best for run in runs.values())
        for name, run in runs.items():
            batch = "all" if name == "full" else f"{run.n_docs / run.n_batches:,.0f}"
            each = run.seconds / run.epochs
            print(f"| {preset} | {run.n_docs:,} | {run.n_topics:,} | {run.n_edges:,} | {batch} | {run.epochs:.0f} | {each:.0f} |"
                  f" {run.n_docs / each:,.0f} | {run.peak / 1000:,.0f} | {run.best:.2f} | {run.epochs_to(best - NEAR)} |")
        truth = next(iter(runs.values())).truth
        if truth is not None:
            print(f"| {preset}, true weights | | | | | | | | | {truth:.2f} | |")


def range_of(runs):
    """What the vertical axis shows: not the first, far too low bounds of full batches."""
    shown = [bound for run in runs.values() for _, bound in run.curve[1:]] + [run.curve[0][1] for run in runs.values()][:1]
    shown += [run.truth for run in runs.values() if run.truth is not None]
    low, high = min(shown), max(shown)
    step = next((step for step in [1, 2, 5, 10, 20, 50, 100] if high - low <= 8 * step), 200)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def panel(left, preset, runs):
    low, high, step = range_of(runs)
    epochs = max(run.epochs for run in runs.values())
    place = left + LEFT, left + PANEL - RIGHT, TOP, HEIGHT - BOTTOM
    panel = svg.Panel(place, (0, epochs), (low, high))
    first = next(iter(runs.values()))
    title = f"{preset}: {first.n_docs:,} documents, {first.n_edges:,} edges"
    panel.text(panel.x(epochs / 2), TOP - 18, title, "middle", ' font-size="13"')
    panel.rows(range(low, high + 1, step))
    panel.ticks(range(0, int(epochs) + 1, 5 if epochs > 12 else 1), "epochs")
    lines = [(name, colour, runs[name].curve) for name, colour in RUNS if name in runs]
    names = {"full": "full batch", "stochastic": f"batches of {first.n_docs / first.n_batches:,.0f}"}
    for row, (name, colour, curve) in enumerate(lines):
        panel.curve(curve, colour)
        panel.dots(curve, colour)
        panel.text(panel.x(0), HEIGHT - BOTTOM + 60 + 16 * row, f"{names[name]}: {curve[-1][1]:.2f}", more=f' fill="{colour}"')
    if first.truth is not None:
        panel.curve([(0, first.truth), (epochs, first.truth)], TRUTH, 1)
        panel.text(panel.x(epochs / 2), HEIGHT - BOTTOM + 60, f"true weights: {first.truth:.2f}", more=f' fill="{TRUTH}"')
    return panel


def main():
    if len(sys.argv) not in [2, 3]:
        raise SystemExit("usage: reproduce-scale.py DIR [FIGURE.svg]")
    presets = read(sys.argv[1])
    if not presets:
        raise SystemExit(f"{sys.argv[1]} has no runs that have ended; make them with reproduce-scale.sh")
    figure = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(__file__), "../docs/scale.svg")
    panels = [panel(24 + at * PANEL, preset, runs) for at, (preset, runs) in enumerate(presets.items())]
    bound = next(iter(next(iter(presets.values())).values())).bound
    svg.write(figure, 24 + PANEL * len(panels), HEIGHT, panels, f"held-out bound ({bound}), nats a document")
    table(presets)


main()
