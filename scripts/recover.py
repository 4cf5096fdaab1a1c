#!/usr/bin/env python3
"""Known parameters and learned ones, for recover.sh.

    recover.py graph TRUTH.json LATENTS OUT.tsv      every latent linked to every variable, no weights
    recover.py truth TRUTH.json OUT.json             the network that the data were sampled from, as a model file
    recover.py count TRUTH.json MODEL.json METRICS   causes recovered, causes kept and the best held-out bound of a run
    recover.py table RESULTS                         the table of a folder of such lines, SET.LATENTS.SEED.txt, and SET.truth.txt
                                                     with the bound under the true network; fails where a target is missed
"""

import glob
import json
import math
import os
import sys

# Learned causes of a smaller prior are dropped; weights are compared up to the cap; a match costs less than the last.
LEAST_PRIOR, CAP, MATCH = 0.02, 6.0, 1.0
# Weights that a model file may hold.
LEAST_WEIGHT = 1e-6


def weight(failure):
    """-log of a failure probability."""
    return -math.log(max(failure, 1e-9))


def read_truth(path):
    with open(path, encoding="utf-8") as file:
        truth = json.load(file)
    causes = [[weight(failure) for failure in row] for row in truth["failure"]]
    return truth["priors"], causes, [weight(failure) for failure in truth["leak_failure"]]


def write_graph(truth_path, n_latents, out):
    n_variables = len(read_truth(truth_path)[2])
    with open(out, "w", encoding="utf-8") as file:
        for variable in range(1, n_variables + 1):
            for latent in range(n_latents):
                file.write(f"cause {latent + 1}\t{variable}\n")


def write_truth(truth_path, out):
    priors, causes, leaks = read_truth(truth_path)
    n = len(causes)
    edges = [
        [cause, n + variable, max(w, LEAST_WEIGHT)]
        for cause, row in enumerate(causes)
        for variable, w in enumerate(row)
    ]
    model = {
        "format": "noisyor-model",
        "version": 1,
        "topics": [f"cause {cause + 1}" for cause in range(n)],
        "tokens": [str(variable + 1) for variable in range(len(leaks))],
        "leak": [-math.log1p(-prior) for prior in priors] + [max(w, LEAST_WEIGHT) for w in leaks],
        "edges": edges,
    }
    with open(out, "w", encoding="utf-8") as file:
        json.dump(model, file)


def read_model(path):
    """Priors of the causes, and their weights by the number of the variable."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    n, tokens = len(model["topics"]), [int(name) - 1 for name in model["tokens"]]
    priors = [-math.expm1(-leak) for leak in model["leak"][:n]]
    causes = [{} for _ in range(n)]
    for parent, child, w in model["edges"]:
        causes[parent][tokens[child - n]] = w
    return priors, causes


def cost(learned, true):
    return max(abs(min(learned.get(i, 0.0), CAP) - min(w, CAP)) for i, w in enumerate(true))


def assign(costs):
    """The assignment of rows to different columns of least cost (Hungarian method; at most as many rows as columns)."""
    n_columns = len(costs[0]) if costs else 0
    row_price, column_price = [0.0] * (len(costs) + 1), [0.0] * (n_columns + 1)
    # Column 0 stands for the row that has no column yet; rows count from 1.
    row_of = [0] * (n_columns + 1)
    for row in range(1, len(costs) + 1):
        row_of[0] = row
        least, came_from, done = [math.inf] * (n_columns + 1), [0] * (n_columns + 1), [False] * (n_columns + 1)
        column = 0
        while row_of[column]:
            done[column] = True
            here, step, nearest = row_of[column], math.inf, 0
            for j in range(1, n_columns + 1):
                if not done[j]:
                    reduced = costs[here - 1][j - 1] - row_price[here] - column_price[j]
                    if reduced < least[j]:
                        least[j], came_from[j] = reduced, column
                    if least[j] < step:
                        step, nearest = least[j], j
            for j in range(n_columns + 1):
                if done[j]:
                    row_price[row_of[j]] += step
                    column_price[j] -= step
                else:
                    least[j] -= step
            column = nearest
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    return [(row_of[j] - 1, j - 1) for j in range(1, n_columns + 1) if row_of[j]]


def recovered(truth_path, model_path):
    """How many true causes a model has, and how many causes it has above the least prior."""
    _, true, _ = read_truth(truth_path)
    priors, causes = read_model(model_path)
    kept = [cause for prior, cause in zip(priors, causes) if prior >= LEAST_PRIOR]
    rows, columns = (kept, true) if len(kept) <= len(true) else (true, kept)
    costs = [[cost(a, b) if rows is kept else cost(b, a) for b in columns] for a in rows]
    return sum(costs[row][column] < MATCH for row, column in assign(costs)), len(kept)


# Causes of 8 by latents and set (Buhai et al. 2020, variational; Dedieu et al. 2023, max-product), and what ours must reach.
SETS, LATENTS = ["IMG", "PLNT", "UNIF"], [8, 16, 32]
PUBLISHED = {
    "Buhai et al. 2020": {8: [6.31, 4.71, 5.35], 16: [7.62, 6.83, 7.78], 32: [7.75, 6.57, 7.87]},
    "Dedieu et al. 2023": {8: [6.52, 6.60, 7.20], 16: [7.88, 7.70, 8.00], 32: [7.84, 7.74, 8.00]},
}
ABOVE = {8: PUBLISHED["Dedieu et al. 2023"][8]}
AT_LEAST = {16: [7.7, 7.5, 7.9]}


def best_bound(path):
    with open(path, encoding="utf-8") as file:
        return max(json.loads(line)["valid_elbo"] for line in file)


def read_results(folder, name):
    """Lines of numbers of the files of that name."""
    lines = []
    for path in sorted(glob.glob(os.path.join(folder, name))):
        with open(path, encoding="utf-8") as file:
            lines.append([float(field) for field in file.read().split()])
    return lines


def mean(numbers):
    return sum(numbers) / len(numbers)


def print_table(folder):
    """Prints the table; returns the targets that were missed."""
    missed = []
    print("| latents | | " + " | ".join(SETS) + " |\n|---|---|" + "---|" * len(SETS))
    for n in LATENTS:
        for paper, rows in PUBLISHED.items():
            print(f"| {n} | {paper} | " + " | ".join(f"{number:.2f}" for number in rows[n]) + " |")
        cells = []
        for at, name in enumerate(SETS):
            runs = read_results(folder, f"{name}.{n}.[0-9]*.txt")
            if not runs:
                cells.append("")
                missed.append(f"{name} {n} was not run")
                continue
            reached = mean([run[0] for run in runs])
            all_found = sum(run[0] == 8 for run in runs)
            bound = mean([run[2] for run in runs])
            cells.append(f"**{reached:.2f}** ({all_found} of {len(runs)} runs all 8; bound {bound:.2f})")
            if n in ABOVE and reached <= ABOVE[n][at] or n in AT_LEAST and reached < AT_LEAST[n][at]:
                missed.append(f"{name} {n}: {reached:.2f}")
        print(f"| {n} | **noisyor** | " + " | ".join(cells) + " |")
    truths = [read_results(folder, f"{name}.truth.txt") for name in SETS]
    print("| | bound under the true network | " + " | ".join(f"{t[0][0]:.2f}" if t else "" for t in truths) + " |")
    return missed


def main(arguments):
    match arguments:
        case ["graph", truth, n_latents, out]:
            write_graph(truth, int(n_latents), out)
        case ["truth", truth, out]:
            write_truth(truth, out)
        case ["count", truth, model, metrics]:
            n_recovered, n_kept = recovered(truth, model)
            print(f"{n_recovered} {n_kept} {best_bound(metrics):.4f}")
        case ["table", folder]:
            missed = print_table(folder)
            print("missed: " + ", ".join(missed) if missed else "all targets hold")
            sys.exit(bool(missed))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
