#!/usr/bin/env python3
"""Figures and tables of scripts/reproduce-qmr.sh: reproduce-qmr.py DIR FIGURES_DIR (no packages needed)."""
import csv
import math
import sys

import svg

METHODS = [("MF(0)", "#1b6ca8"), ("MF(2)", "#2a9d8f"), ("MF(3)", "#8ab17d"), ("JJ", "#e76f51"), ("KS upper", "#6c757d"),
           ("KS lower", "#adb5bd")]
CURVES = [("truth", "truth", "#333"), ("jj_fixed", "JJ, lambda fixed", "#f4a261"), ("jj", "JJ, lambda optimised", "#e76f51"),
          ("mf3", "MF(3)", "#2a9d8f")]
# A value of MF(3) counts where rounding has not moved it by more than this share.
ROUNDED = 0.01
# Numbers of exact findings in the table.
SHOWN = [0, 1, 2, 4, 6, 8, 10, 12, 14, 16]


def read(file):
    """Rows by column name, numbers as numbers."""
    number = lambda key, value: value if key == "others" else float(value)
    with open(file) as lines:
        return [{key: number(key, value) for key, value in row.items()} for row in csv.DictReader(lines, delimiter="\t")]


def slope(points):
    """Of log error on log N, by least squares."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / sum((x - x_mean) ** 2 for x in xs)


def convergence(rows, figure):
    """Errors against N, log-log, with a table of them and their slopes."""
    panels = []
    names = [name for name in rows[0] if name not in ["findings", "topics"]]
    for at, findings in enumerate([1, 5]):
        of = [row for row in rows if row["findings"] == findings]
        print(f"| {findings} finding{'s' * (findings > 1)}: topics | {' | '.join(names)} |")
        print("|---" * (len(names) + 1) + "|")
        for row in of:
            print(f"| {row['topics']:g} | {' | '.join(f'{row[name]:.1e}' for name in names)} |")
        slopes = {name: slope([(row["topics"], row[name]) for row in of]) for name in names}
        print(f"| slope | {' | '.join(f'{slopes[name]:.2f}' for name in names)} |\n")
        left = 70 + 440 * at
        panel = svg.Panel((left, left + 290, 40, 330), (10, 1000), (-9, 0), log_x=True)
        panel.text(left + 145, 24, f"{findings} finding{'s' * (findings > 1)}", "middle", ' font-size="13"')
        panel.rows(range(-9, 1), lambda power: f"1e{power}")
        panel.ticks([10, 100, 1000], "topics N")
        ends = sorted((math.log10(of[-1][name]), name, colour) for name, colour in METHODS)
        label = panel.bottom
        for end, name, colour in ends:
            points = [(row["topics"], math.log10(row[name])) for row in of]
            panel.curve(points, colour)
            panel.dots(points, colour)
            # Names beside the ends of the curves, not above each other.
            label = min(label - 14, panel.y(end) + 4)
            panel.text(panel.right + 6, label, f"{name}: {slopes[name]:.2f}", more=f' fill="{colour}"')
        panels.append(panel)
    svg.write(figure, 900, 380, panels, "mean absolute error of the likelihood")


def trusted(row, name):
    """Whether a value is there: MF(3) may be negative, or lost to rounding."""
    return name != "mf3" or (math.isfinite(row["mf3"]) and row["mf3_error"] < ROUNDED)


def hybrids(rows, figure):
    """log p(y) against the number of exact findings, a panel for each case."""
    panels = []
    print(f"| findings treated exactly: | {' | '.join(['', *map(str, SHOWN)])} | exact |")
    print("|---" * (len(SHOWN) + 3) + "|")
    cases = list(dict.fromkeys((row["case"], row["others"]) for row in rows))
    for at, key in enumerate(cases):
        of = [row for row in rows if (row["case"], row["others"]) == key]
        m, truth = int(of[0]["present"]), of[0]["truth"]
        name = f"case {key[0]:g}: {m} present, others {key[1]}"
        for column, curve, _ in CURVES[1:]:
            cells = [f"{of[n][column]:.2f}" if n < m and trusted(of[n], column) else "" for n in SHOWN]
            print(f"| {name} | {curve} | {' | '.join(cells)} | {truth:.2f} |")
        left, top = 70 + 400 * (at % 2), 40 + 330 * (at // 2)
        low = math.floor(min(row["mf3"] for row in of if trusted(row, "mf3")) / 20) * 20
        high = math.ceil(max(row["jj_fixed"] for row in of) / 20) * 20
        panel = svg.Panel((left, left + 310, top, top + 230), (0, m), (low, high))
        panel.text(left + 155, top - 16, name, "middle", ' font-size="13"')
        panel.rows(range(low, high + 1, 20))
        panel.ticks(range(0, m + 1, 4), "findings treated exactly")
        for place, (column, curve, colour) in enumerate(CURVES):
            points = [(row["exact_findings"], row[column]) for row in of if trusted(row, column)]
            panel.curve(points, colour, 1 if column == "truth" else 2)
            if column != "truth":
                panel.dots(points, colour)
            panel.text(left + 150, top + 150 + 16 * place, curve, more=f' fill="{colour}"')
        panels.append(panel)
    svg.write(figure, 800, 680, panels, "log p(y), nats")


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: reproduce-qmr.py DIR FIGURES_DIR")
    rows, figures = sys.argv[1:]
    convergence(read(f"{rows}/convergence.tsv"), f"{figures}/qmr-convergence.svg")
    hybrids(read(f"{rows}/hybrids.tsv"), f"{figures}/qmr-hybrids.svg")


main()
