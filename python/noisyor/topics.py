"""The hierarchy of topics, for people: a tree, a table, a page element."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Topic:
    """A topic, its strongest tokens, and the topics below it."""

    name: str
    p: float
    """Probability that its parent alone switches it on; of a topic without a parent, that its leak does."""
    tokens: tuple[tuple[str, float], ...]
    """Tokens with the probability that this topic alone switches each on, strongest first."""
    topics: tuple[Topic, ...]
    """Topics of which this is the strongest parent."""
    also: tuple[str, ...]
    """Topics below it that have a stronger parent."""

    @classmethod
    def of(cls, tree: dict[str, Any]) -> Topic:
        """From the library's JSON."""
        tokens = tuple((str(token), float(p)) for token, p in tree["tokens"])
        below = tuple(cls.of(topic) for topic in tree["topics"])
        return cls(tree["topic"], tree["p"], tokens, below, tuple(tree["also"]))

    def walk(self, parent: str | None = None, level: int = 0) -> Iterator[tuple[Topic, str | None, int]]:
        """This topic and all below: topic, parent, level."""
        yield self, parent, level
        for topic in self.topics:
            yield from topic.walk(self.name, level + 1)

    def to_html(self) -> str:
        """As a list that opens and closes."""
        words = ", ".join(html.escape(token) for token, _ in self.tokens)
        line = f"<b>{html.escape(self.name)}</b> <small>{self.p:.3g}</small> {words}"
        if not self.topics:
            return f"<li>{line}</li>"
        below = "".join(topic.to_html() for topic in self.topics)
        return f"<li><details open><summary>{line}</summary><ul>{below}</ul></details></li>"


class Topics(Sequence[Topic]):
    """The topics without parents, each with the topics below it. As text it is the tree that the program prints."""

    def __init__(self, roots: Sequence[Topic], text: str) -> None:
        self._roots = tuple(roots)
        self._text = text

    @overload
    def __getitem__(self, at: int) -> Topic: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Topic]: ...
    def __getitem__(self, at: int | slice) -> Topic | Sequence[Topic]:
        return self._roots[at]

    def __len__(self) -> int:
        return len(self._roots)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Topics: {sum(1 for _ in self.walk())} in a hierarchy of {len(self)} roots>"

    def walk(self) -> Iterator[tuple[Topic, str | None, int]]:
        """All topics from the roots down: topic, parent, level."""
        for root in self._roots:
            yield from root.walk()

    def to_frame(self) -> pd.DataFrame:
        """A row per topic: topic, parent, level, p, tokens (a list), also (topics below that have a stronger parent)."""
        import pandas as pd

        rows = [
            (topic.name, parent, level, topic.p, [token for token, _ in topic.tokens], list(topic.also))
            for topic, parent, level in self.walk()
        ]
        return pd.DataFrame(rows, columns=["topic", "parent", "level", "p", "tokens", "also"])

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(root.to_html() for root in self._roots)}</ul>"
