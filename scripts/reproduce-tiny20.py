#!/usr/bin/env python3
"""The figures of scripts/reproduce-tiny20.sh (no packages needed).

graph PEER.json OUT    the graph without its weights, and with the weights that Dedieu et al. start from
plot OUT FILE.svg      the bound against epochs for the paper's step, for each rate and c
table OUT SECONDS      the bounds of the test parts beside the published ones, as Markdown
"""
import json
import math
import os
import statistics
import sys

import svg

RATES, CS = ["0.001", "0.01"], ["1", "10", "100", "1000", "10000"]
COLOURS = ["#c9a227", "#f08a3c", "#e76f51", "#8e5ea2", "#264653"]
EM_COLOUR = "#1b6ca8"
PANEL, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 450, 460, 60, 16, 40, 112
LOW, HIGH, EPOCHS = -18, -14, 200

# (folder, name): rows of ours.
ROWS = [
    ("learned-local", "learned graph, at most 44 topics and 707 edges, refined on `local`"),
    ("learned", "the same, refined on `tail`"),
    ("learned-start", "learned graph, its initial weights"),
    ("adam-local", "graph of Dedieu et al., Adam on `local`"),
    ("adam", "graph of Dedieu et al., Adam on `tail`"),
    ("em", "graph of Dedieu et al., EM on `tail`"),
    ("their-start", "graph of Dedieu et al., their initial weights (leaks -log 0.9, edges -log 0.5)"),
    ("our-start", "graph of Dedieu et al., our initial weights (`train --steps 0`)"),
]
# (name, local, full, log-likelihood): as the papers print them. Dedieu et al. do not say what their parentheses are.
PUBLISHED = [
    ("Ji et al. 2019, VI", "-14.51 ± 0.08", "-14.50 ± 0.06", "-14.43 ± 0.07"),
    ("Ji et al. 2019, MCMC", "", "-15.36 ± 0.15", "-14.18 ± 0.07"),
    ("Ji et al. 2019, initialisation", "", "-24.15", "-21.98 ± 0.08"),
    ("Dedieu et al. 2023, VI with Adam", "-14.43 (0.02)", "-14.40 (0.02)", ""),
    ("Dedieu et al. 2023, max-product, then VI", "", "-14.34 (0.02)", ""),
]


def graph(peer, out):
    model = json.load(open(peer))["cases"][0]["model"]
    edges = [edge[:2] for edge in model["edges"]]
    nodes = len(model["topics"]) + len(model["tokens"])
    model.pop("leak")
    json.dump({**model, "edges": edges}, open(f"{out}/graph.json", "w"))
    start = {"leak": [-math.log(0.9)] * nodes, "edges": [[*edge, math.log(2)] for edge in edges]}
    json.dump({**model, **start}, open(f"{out}/start.json", "w"))


def curve(run):
    """The (epoch, bound) pairs of a run: none if it failed before the first evaluation, which leaves no file."""
    if not os.path.exists(f"{run}/metrics.jsonl"):
        return []
    rows = [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
    return [(row["epoch"], row["valid_elbo"]) for row in rows]


def note(points):
    """Where a curve ended."""
    if len(points) < EPOCHS:
        return f"diverged at epoch {len(points) + 1}"
    last, best = points[-1][1], max(bound for _, bound in points)
    return f"{last:.2f}" if best - last < 0.1 else f"{last:.2f}, best {best:.2f}"


def panel(left, title, curves):
    place = left + LEFT, left + PANEL - RIGHT, TOP, HEIGHT - BOTTOM
    panel = svg.Panel(place, (0, EPOCHS), (LOW, HIGH))
    panel.text(panel.x(EPOCHS / 2), TOP - 18, title, "middle", ' font-size="13"')
    panel.rows(range(LOW, HIGH + 1), lambda bound: f"{bound}" if bound > LOW else f"≤ {bound}")
    panel.ticks(range(0, EPOCHS + 1, 50), "epochs (full batch)")
    for row, (name, colour, points) in enumerate(curves):
        panel.curve(points, colour, 1.6)
        panel.dots(points[-1:] if len(points) < EPOCHS else [], colour, 4)
        place = panel.x(100 * (row // 3)), HEIGHT - BOTTOM + 62 + 18 * (row % 3)
        panel.text(*place, f"{name}: {note(points)}", more=f' fill="{colour}"')
    return panel


def plot(out, file):
    panels, em = [], curve(f"{out}/curve-em")
    for at, rate in enumerate(RATES):
        curves = [("EM", EM_COLOUR, em)]
        curves += [(f"c = {c}", colour, curve(f"{out}/curve-{rate}-{c}")) for c, colour in zip(CS, COLOURS)]
        panels.append(panel(24 + at * PANEL, f"the paper's step, ρ = {rate}", curves))
    width = PANEL * len(RATES) + 24
    svg.write(file, width, HEIGHT, panels, f"held-out bound (tail), nats a document (clipped at {LOW})")


def table(out, seconds):
    def mean(values):
        return f"{statistics.mean(values):.2f} ± {2 * statistics.stdev(values):.2f}"

    print("# tiny20: Table 2 and Fig. 4 of Ji et al.\n")
    print("`scripts/reproduce-tiny20.sh DATA` writes this page and its figure ([reproduce the papers](reproduce.md)).\n")
    print("| tiny20, test part, nats a document | `local` | `tail` | `full` | log-likelihood | seconds (CPU-seconds) a split |\n|---|---|---|---|---|---|")
    for name, local, full, likelihood in PUBLISHED:
        print(f"| {name} | {local} | | {full} | {likelihood} | |")
    for row, name in ROWS:
        runs = [f"{out}/{row}-{seed}" for seed in range(5)]
        if not os.path.exists(runs[0]):
            continue
        read = lambda bound: [json.load(open(f"{run}/{bound}.json"))["elbo_mean"] for run in runs]
        bounds = [mean(read(bound)) for bound in ["local", "tail", "full"]]
        bounds.append(mean([json.load(open(f"{run}/likelihood.json"))["likelihood_mean"] for run in runs]))
        times = ""
        if os.path.exists(f"{runs[0]}.times") and "start" not in row:
            both = [map(float, open(f"{run}.times").read().split()) for run in runs]
            wall, cpu = (statistics.mean(times) for times in zip(*both))
            times = f"{wall:.0f} ({cpu:.0f})"
        print(f"| **{name}** | {' | '.join(bounds)} | {times} |")
    print(
        "\nIn bold: means ± two standard deviations over five 70/30 splits, `scripts/reproduce-tiny20.sh DATA`"
        f" ({int(seconds) / 60:.0f} min with the figure below). Columns are the bound that is evaluated, and the log-likelihood as `eval --likelihood=5`"
        " estimates it. Choices were made on a tenth of the training part.\n"
        "\nPublished figures are printed as the papers give them, over other splits; Dedieu et al. do not say what their parentheses are. The published"
        " log-likelihoods are sums over the configurations that a sampler met, which are lower bounds.\n"
        "\n![The bound against epochs for several c](fig4-c-sweep.svg)\n"
        "\n*Fig. 4 of Ji et al.: the factor c on the rate of edges, here for two rates, beside the closed-form EM step.*"
    )


{"graph": graph, "plot": plot, "table": table}[sys.argv[1]](*sys.argv[2:])
