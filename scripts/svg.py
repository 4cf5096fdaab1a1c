"""Curves as SVG, for the figures of docs/ (no packages needed)."""
import math


class Panel:
    """Axes at a place of a figure: (left, right, top, bottom) in pixels, and the ranges that they show."""

    def __init__(self, place, xs, ys, log_x=False):
        self.left, self.right, self.top, self.bottom = place
        self.scale = math.log10 if log_x else float
        self.xs, self.ys, self.parts = [self.scale(x) for x in xs], ys, []

    def x(self, value):
        low, high = self.xs
        return self.left + (self.scale(value) - low) / (high - low) * (self.right - self.left)

    def y(self, value):
        """Values below the range are drawn at its lower end."""
        low, high = self.ys
        return self.top + (high - max(value, low)) / (high - low) * (self.bottom - self.top)

    def text(self, x, y, text, anchor="start", more=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{text}</text>')

    def rows(self, values, label=str):
        """Horizontal lines, with their values beside them."""
        for value in values:
            y = self.y(value)
            self.parts.append(f'<line x1="{self.left:.1f}" x2="{self.right:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
            self.text(self.left - 8, y + 4, label(value), "end")

    def ticks(self, values, name):
        """Values below the horizontal axis, those that it shows, and its name."""
        for value in values:
            if self.xs[0] <= self.scale(value) <= self.xs[1]:
                self.text(self.x(value), self.bottom + 18, f"{value:g}", "middle")
        self.text((self.left + self.right) / 2, self.bottom + 36, name, "middle")

    def curve(self, points, colour, width=2):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')

    def dots(self, points, colour, radius=2):
        for x, y in points:
            self.parts.append(f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{radius}" fill="{colour}"/>')


def write(file, width, height, panels, y_name):
    """Writes a figure of panels that share what stands beside the vertical axis."""
    middle = (panels[0].top + panels[0].bottom) / 2
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text transform="translate(18,{middle:.1f}) rotate(-90)" text-anchor="middle">{y_name}</text>',
        *(part for panel in panels for part in panel.parts),
        "</svg>",
    ]
    with open(file, "w") as out:
        out.write("\n".join(svg) + "\n")
