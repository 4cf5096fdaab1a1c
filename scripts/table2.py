#!/usr/bin/env python3
"""The figures of scripts/table2.sh (no packages needed).

plot OUT FILE.tsv FILE.svg                   held-out bounds against epochs, and bounds by chains against their length
table OUT SPLITS EPOCHS FLIPS SECONDS        Table 2 beside the published one, as Markdown
"""
import json
import os
import statistics
import sys

import svg

# (row, name, published bound, published log-likelihood, file and key of the bound, file and key of the log-likelihood).
# As in the paper, the inference that evaluates is the one that trained; initial weights are evaluated by local VI.
FULL, LOCAL, CHAIN = "full.json", "local.json", "chain-local.json"
ROWS = [
    ("start", "initialisation", "-24.15 ± 0.11", "-21.98 ± 0.08", (LOCAL, "elbo_mean"), (FULL, "mcmc_bound_mean")),
    ("vi", "VI full", "-14.50 ± 0.06", "-14.43 ± 0.07", (FULL, "elbo_mean"), (FULL, "mcmc_bound_mean")),
    ("vi-local", "VI local", "-14.51 ± 0.08", "-14.43 ± 0.07", (LOCAL, "elbo_mean"), (FULL, "mcmc_bound_mean")),
    ("mcmc", "MCMC full", "-15.36 ± 0.15", "-14.18 ± 0.07", (FULL, "mcmc_elbo_mean"), (FULL, "mcmc_bound_mean")),
    ("mcmc-local", "MCMC local", "-19.22 ± 0.47", "-17.11 ± 0.12", (CHAIN, "mcmc_elbo_mean"), (CHAIN, "mcmc_bound_mean")),
]
CURVES = [("vi", "VI full", "#1b6ca8"), ("mcmc", "MCMC full", "#c9a227"), ("mcmc-local", "MCMC local", "#e76f51")]
PANEL, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 450, 420, 60, 16, 40, 106


def load(file):
    with open(file) as text:
        return json.load(text)


def epochs_of(run):
    with open(f"{run}/metrics.jsonl") as lines:
        rows = [json.loads(line) for line in lines]
    return [(row["epoch"], row["valid_elbo"]) for row in rows]


def panel(at, title, curves, xs, log_x, ticks, x_name):
    lows = [min(y for _, y in points) for _, _, points in curves]
    highs = [max(y for _, y in points) for _, _, points in curves]
    low, high = int(min(lows) * 2 - 1) / 2, int(max(highs) * 2) / 2
    left = 24 + at * PANEL
    place = left + LEFT, left + PANEL - RIGHT, TOP, HEIGHT - BOTTOM
    axes = svg.Panel(place, xs, (low, high), log_x)
    axes.text((place[0] + place[1]) / 2, TOP - 18, title, "middle", ' font-size="13"')
    axes.rows([low + step / 4 for step in range(int((high - low) * 4) + 1)], lambda y: f"{y:.2f}")
    axes.ticks(ticks, x_name)
    for row, (name, colour, points) in enumerate(curves):
        axes.curve(points, colour, 1.6)
        axes.text(place[0], HEIGHT - BOTTOM + 58 + 18 * row, f"{name}: {points[0][1]:.2f} to {points[-1][1]:.2f}", more=f' fill="{colour}"')
    return axes


def plot(out, tsv, file):
    epochs = [(name, colour, epochs_of(f"{out}/curve-{row}")) for row, name, colour in CURVES]
    chain = lambda row: load(f"{out}/{row}-0/{CHAIN if row == 'mcmc-local' else FULL}")["mcmc_bound_curve"]
    chains = [(name, colour, chain(row)) for row, name, colour in CURVES]
    with open(tsv, "w") as table:
        print("figure\trow\tx\tnats", file=table)
        for figure, curves in [("bound_by_epoch", epochs), ("chain_by_samples", chains)]:
            for name, _, points in curves:
                for x, y in points:
                    print(f"{figure}\t{name}\t{x:g}\t{y:.6f}", file=table)
    last, flips = epochs[0][2][-1][0], chains[0][2][-1][0]
    panels = [
        panel(0, "held-out bound while training", epochs, (0, last), False, [last * part / 4 for part in range(5)], "epochs"),
        panel(1, "lower bound by a chain, trained models", chains, (100, flips), True, [10**n for n in range(2, 8)], "samples of single topics"),
    ]
    svg.write(file, PANEL * 2 + 24, HEIGHT, panels, "nats a document")


def table(out, splits, epochs, flips, seconds):
    seeds = range(int(splits))

    def mean(row, file_key):
        file, key = file_key
        values = [load(f"{out}/{row}-{seed}/{file}")[key] for seed in seeds]
        spread = f" ± {2 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
        return f"{statistics.mean(values):.2f}{spread}"

    print("# tiny20: Table 2 and Fig. 6 of Ji et al. with MCMC\n")
    print("`scripts/table2.sh DATA` writes this page and its figure ([reproduce the papers](reproduce.md), [MCMC](mcmc.md)).\n")
    print("| tiny20, test part, nats a document | published bound | bound | published log-likelihood | log-likelihood | mean field, `full` | log-likelihood, all topics | CPU-seconds of training |")
    print("|---|---|---|---|---|---|---|---|")
    for row, name, bound, likelihood, of_bound, of_likelihood in ROWS:
        times = ""
        if os.path.exists(f"{out}/{row}-0.times"):
            cpu = [float(open(f"{out}/{row}-{seed}.times").read().split()[1]) for seed in seeds]
            times = f"{statistics.mean(cpu):.0f}"
        ours = [mean(row, of_bound), mean(row, of_likelihood), mean(row, (FULL, "elbo_mean")), mean(row, (FULL, "mcmc_bound_mean"))]
        print(f"| {name} | {bound} | **{ours[0]}** | {likelihood} | **{ours[1]}** | {ours[2]} | {ours[3]} | {times} |")
    n = int(splits)
    spread = f"means ± two standard deviations over {n} 70/30 splits" if n > 1 else "one 70/30 split"
    print(
        f"\nIn bold ours, the inference that evaluates being the one that trained, as in the paper: {spread},"
        f" `scripts/table2.sh DATA{'' if n == 5 else f' --splits {n}'}` ({int(seconds) / 60:.0f} min). All rows start from the weights of the first one (graph of Dedieu et al., leaks -log 0.9, edges -log 0.5)"
        f" and train for at most {epochs} epochs, VI by `--step em`. The last two columns of figures evaluate every model alike.\n"
        "\nThe bound of MCMC rows is Eq. 9 at the marginals of the samples with the best r, our reading of a paper that does not say what it is; that of the others is mean field's."
        f" All log-likelihoods are lower bounds: sums over the different states around a chain of {int(flips):,} samples of single topics a document"
        " (`eval --likelihood=mcmc`; the paper has a million iterations, and only states that were met). Published figures are of other splits and another graph.\n"
        "\n![Held-out bounds against epochs, and lower bounds against the length of chains](fig6-mcmc.svg)\n"
        "\n*Left: the bound `full` of a held-out 30 % by epochs, as in Fig. 6 of Ji et al. (which is of DBLP and Yelp). Right: how long a chain has to be. [Figures](fig6-mcmc.tsv).*"
    )


{"plot": plot, "table": table}[sys.argv[1]](*sys.argv[2:])
