"""The Python of the guide runs: the ```python blocks of a page, from the top to the bottom."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted(page.name for page in (ROOT / "docs" / "guide").glob("*.md") if BLOCK.search(page.read_text()))


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    if page == "spark-ray.md":
        pytest.importorskip("pyspark", reason="Spark is not installed; scripts/test-python-cluster.sh runs this page")
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "guide" / page).read_text()
    names: dict[str, object] = {}
    for block in BLOCK.finditer(text):
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], page, "exec"), names)


def test_pages_are_found():
    assert {"from-sklearn-lda.md", "from-gensim.md", "from-bertopic.md", "python.md", "spark-ray.md", "wishes.md"} <= set(PAGES)
