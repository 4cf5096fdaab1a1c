"""Writes a model and documents whose names hold what names should not: model.json, docs.jsonl, and searches.json for check.py."""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
TOPICS = [
    "<script>window.pwned=1;alert(1)</script>", "\"quotes\" 'and' more", "&amp; &lt;b&gt;", "مرحبا بالعالم (rtl) 123", "long " + "x" * 5000,
    "</script><img src=x onerror=window.pwned=1>", "{{summary}} {{script}}", "line\u2028separator", "tab\tand\x01control", "\ufeffmark", "İstanbul ẞ 😀",
]
TOKENS = ["<b>bold</b>", "\"", "&copy;", "שלום", "y" * 5000, "--><!--", "${1}", "plain", "\u202eoverride", "javascript:alert(1)", "word", "😀😀"]

n = len(TOPICS)
edges = [[topic, topic + 1, 0.7] for topic in range(n - 1)]
edges += [[topic, n + (topic + step) % len(TOKENS), 1.5 / (step + 1)] for topic in range(n) for step in range(4)]
model = {"format": "noisyor-model", "version": 1, "topics": TOPICS, "tokens": TOKENS, "leak": [0.1] * n + [0.02] * len(TOKENS), "edges": edges}
(folder / "model.json").write_text(json.dumps(model))
docs = [{"id": f"<i>{at}</i> " + "z" * (at % 3 * 2000), "label": "<script>window.pwned=2</script>", "tokens": [TOKENS[(at + step) % len(TOKENS)] for step in range(at % 5)]}
        for at in range(60)]
(folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
searches = [[text, topic, TOPICS[topic]] for text, topic in
            [("pwned=1;", 0), ("quotes", 1), ("&amp;", 2), ("مرحبا", 3), ("xxxxxxxx", 4), ("onerror", 5), ("{{summary", 6), ("separator", 7), ("mark", 9), ("😀", 10)]]
# What chromedriver types is limited to the basic plane.
searches = [search for search in searches if all(ord(c) < 0x10000 for c in search[0])]
(folder / "searches.json").write_text(json.dumps(searches))
