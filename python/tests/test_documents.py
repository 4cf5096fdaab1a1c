"""The examples of the guide run as they are shown."""

from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "guide"


def test_examples_of_the_guide(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = (PAGES / "python.md").read_text().split("```python\n")[1:]
    names: dict[str, object] = {}
    for block in blocks:
        exec(block.split("```")[0], names)
    assert len(blocks) == 4 and (tmp_path / "report.html").exists()
    told = capsys.readouterr().out
    assert "{'noisyor__topics': " in told and "interrupted" in told
