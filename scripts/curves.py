#!/usr/bin/env python3
"""Draws the held-out bound of runs against time: curves.py OUT.svg NAME=RUN ... (no packages needed)."""
import json
import math
import sys

import svg

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 70, 20, 24, 52
COLOURS = ["#1b6ca8", "#2a9d8f", "#e76f51", "#8e5ea2", "#6c757d"]


def read(run):
    rows = [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
    return [(row["seconds"], row["valid_elbo"]) for row in rows], rows[0]["bound"]


def main():
    out, runs = sys.argv[1], [arg.split("=", 1) for arg in sys.argv[2:]]
    curves = [(name, *read(run)) for name, run in runs]
    points = [point for _, curve, _ in curves for point in curve]
    best = max(bound for _, bound in points)
    low = max(min(bound for _, bound in points), best - 12)
    low, high = math.floor(low), math.ceil(best)
    seconds = [seconds for seconds, _ in points]
    place = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    panel = svg.Panel(place, (min(seconds), max(seconds)), (low, high), log_x=True)
    panel.rows(range(low, high + 1, 2 if high - low > 6 else 1))
    panel.ticks([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50], "seconds")
    for at, (name, curve, _) in enumerate(curves):
        colour = COLOURS[at % len(COLOURS)]
        panel.curve(curve, colour)
        panel.dots(curve, colour)
        row = HEIGHT - BOTTOM - 16 - 18 * (len(curves) - 1 - at)
        panel.text(WIDTH - RIGHT - 8, row, name, "end", f' fill="{colour}"')
    svg.write(out, WIDTH, HEIGHT, [panel], f"held-out bound ({curves[0][2]}), nats a document")


main()
