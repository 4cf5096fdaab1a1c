"""The cells of the tutorial run, one after another, and what they show can be shown."""

import ast
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tutorial_runs(tmp_path, monkeypatch):
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    cells = json.loads((ROOT / "examples" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "the notebook is kept without outputs"
        run("".join(cell["source"]), f"cell {number}", names)


def run(source: str, name: str, names: dict[str, object]) -> None:
    """As Jupyter does: the value of a last expression is shown."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
        assert repr(value)
        if hasattr(value, "_repr_html_"):
            assert value._repr_html_().lstrip().startswith("<")
