#!/usr/bin/env python3
"""Held-out scores against documents seen, with and without control variates: reproduce-control.py DIR (no packages needed).

Reads the runs MODEL-SEED-true and MODEL-SEED-false in DIR, prints means over seeds, writes scores.tsv and scores.svg.
"""
import collections
import json
import pathlib
import statistics
import sys

import svg

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 300, 70, 30, 52
COLOURS = {"false": "#6c757d", "true": "#1b6ca8"}


def scores(run):
    """Score by epoch: networks have bounds, other models what their metrics call a score."""
    rows = [json.loads(line) for line in open(run / "metrics.jsonl")]
    of = {round(row["epoch"], 6): row.get("valid_elbo", row.get("valid_score")) for row in rows}
    return {epoch: score for epoch, score in of.items() if score is not None}


def train_docs(run):
    config = json.load(open(run / "config.json"))
    return config["run"].get("train_docs") or 1


def main():
    out = pathlib.Path(sys.argv[1])
    runs, n_docs = collections.defaultdict(dict), 1
    for done in sorted(out.glob("*-*-*.done")):
        run = done.with_suffix("")
        model, seed, with_control = run.name.split("-")
        runs[model, with_control][seed] = scores(run)
        n_docs = max(n_docs, train_docs(run))
    table = []
    for (model, with_control), seeds in sorted(runs.items()):
        for epoch in sorted(set.intersection(*(set(of) for of in seeds.values()))):
            values = [of[epoch] for of in seeds.values()]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            table.append((model, with_control, epoch, epoch * n_docs, len(values), statistics.mean(values), spread))
    with open(out / "scores.tsv", "w") as file:
        print("model", "control_variates", "epoch", "documents", "seeds", "score", "spread", sep="\t", file=file)
        for row in table:
            print(*row, sep="\t", file=file)
    print(f"{'model':10} {'epoch':>6} {'without':>12} {'with':>12} {'gain':>10} {'smallest':>10} {'largest':>10}")
    models = sorted({model for model, _ in runs})
    for model in models:
        off, on = runs[model, "false"], runs[model, "true"]
        pairs = [(off[seed], on[seed]) for seed in off.keys() & on.keys()]
        if not pairs:
            continue
        for epoch in sorted(set.intersection(*(set(of) & set(to) for of, to in pairs))):
            gains = [to[epoch] - of[epoch] for of, to in pairs]
            means = [statistics.mean(pair[at][epoch] for pair in pairs) for at in (0, 1)]
            print(f"{model:10} {epoch:6g} {means[0]:12.4f} {means[1]:12.4f} {statistics.mean(gains):+10.4f} {min(gains):+10.4f} {max(gains):+10.4f}")
    draw(out / "scores.svg", models, table)


def draw(file, models, table):
    """A panel for each model: their scores are of different kinds."""
    panels = []
    for at, model in enumerate(models):
        rows = [row for row in table if row[0] == model]
        if not rows:
            continue
        docs, values = [row[3] for row in rows], [row[5] for row in rows]
        margin = (max(values) - min(values)) * 0.05 or 1.0
        place = at * WIDTH + LEFT, (at + 1) * WIDTH - 20, TOP, HEIGHT - BOTTOM
        high = max(docs) if max(docs) > min(docs) else min(docs) + 1
        panel = svg.Panel(place, (min(docs), high), (min(values) - margin, max(values) + margin))
        panel.rows([min(values), max(values)], lambda value: f"{value:.2f}")
        panel.ticks([min(docs), high], "documents seen")
        panel.text((place[0] + place[1]) / 2, TOP - 10, model, "middle")
        for with_control, colour in COLOURS.items():
            curve = [(row[3], row[5]) for row in rows if row[1] == with_control]
            panel.curve(curve, colour)
            panel.dots(curve, colour)
            name = "with control variates" if with_control == "true" else "without"
            panel.text(place[1], HEIGHT - BOTTOM - (30 if with_control == "true" else 12), name, "end", f' fill="{colour}"')
        panels.append(panel)
    if panels:
        svg.write(file, WIDTH * len(models), HEIGHT, panels, "held-out score, nats a document")


main()
