#!/usr/bin/env python3
"""Draws the held-out bound of runs against time: curves.py OUT.svg NAME=RUN ... (no packages needed)."""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 70, 20, 24, 52
COLOURS = ["#1b6ca8", "#2a9d8f", "#e76f51", "#8e5ea2", "#6c757d"]


def read(run):
    rows = [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
    return [(row["seconds"], row["valid_elbo"], row["bound"]) for row in rows]


def main():
    out, curves = sys.argv[1], [arg.split("=", 1) for arg in sys.argv[2:]]
    curves = [(name, read(run)) for name, run in curves]
    points = [point for _, curve in curves for point in curve]
    best = max(point[1] for point in points)
    low = max(min(point[1] for point in points), best - 12)
    low, high = math.floor(low), math.ceil(best)
    left, right = math.log10(min(p[0] for p in points)), math.log10(max(p[0] for p in points))
    x = lambda seconds: LEFT + (math.log10(seconds) - left) / (right - left) * (WIDTH - LEFT - RIGHT)
    y = lambda bound: TOP + (high - max(bound, low)) / (high - low) * (HEIGHT - TOP - BOTTOM)
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    step = 2 if high - low > 6 else 1
    for bound in range(low, high + 1, step):
        svg.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(bound):.1f}" y2="{y(bound):.1f}" stroke="#ddd"/>')
        svg.append(f'<text x="{LEFT - 8}" y="{y(bound) + 4:.1f}" text-anchor="end">{bound}</text>')
    for seconds in [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]:
        if left <= math.log10(seconds) <= right:
            svg.append(f'<text x="{x(seconds):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{seconds:g}</text>')
    svg.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 12}" text-anchor="middle">seconds</text>')
    label = f"held-out bound ({points[0][2]}), nats a document"
    svg.append(f'<text transform="translate(18,{HEIGHT / 2}) rotate(-90)" text-anchor="middle">{label}</text>')
    for at, (name, curve) in enumerate(curves):
        colour = COLOURS[at % len(COLOURS)]
        path = " ".join(f"{x(seconds):.1f},{y(bound):.1f}" for seconds, bound, _ in curve)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        svg += [f'<circle cx="{x(s):.1f}" cy="{y(b):.1f}" r="2" fill="{colour}"/>' for s, b, _ in curve]
        row = HEIGHT - BOTTOM - 16 - 18 * (len(curves) - 1 - at)
        svg.append(f'<text x="{WIDTH - RIGHT - 8}" y="{row}" text-anchor="end" fill="{colour}">{name}</text>')
    svg.append("</svg>")
    open(out, "w").write("\n".join(svg) + "\n")


main()
