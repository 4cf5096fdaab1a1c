"""Why one document has the topics it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class Explanation:
    """One document's topics, and which topic explains which token.

    ``data`` has all of it, as ``noisyor explain --json`` prints it; in a notebook it is the picture.
    """

    def __init__(self, data: dict[str, Any], svg: str) -> None:
        self.data = data
        self.svg = svg

    @property
    def elbo(self) -> float:
        """The bound of the document, in nats."""
        return float(self.data["elbo"])

    @property
    def topics(self) -> pd.DataFrame:
        """The topics that are on, then those that were considered: topic, q, log_odds, on, cost, leak_share."""
        import pandas as pd

        columns = ["topic", "q", "log_odds", "on", "cost", "leak_share"]
        return pd.DataFrame([[topic[name] for name in columns] for topic in self.data["topics"]], columns=columns)

    @property
    def tokens(self) -> pd.DataFrame:
        """A row per token and topic that has a share of it: token, topic, share; the leak's share is that of the topic None."""
        import pandas as pd

        rows: list[tuple[str, str | None, float]] = []
        for token in self.data["tokens"]:
            rows.extend((token["token"], source["topic"], source["share"]) for source in token["topics"])
            rows.append((token["token"], None, token["leak_share"]))
        return pd.DataFrame(rows, columns=["token", "topic", "share"])

    @property
    def why(self) -> pd.DataFrame | None:
        """The terms of the log-odds of the topic that was asked for: kind, node, nodes, value; they add up to its log-odds."""
        import pandas as pd

        why = self.data["why"]
        if why is None:
            return None
        columns = ["kind", "node", "nodes", "value"]
        return pd.DataFrame([[term[name] for name in columns] for term in why["terms"]], columns=columns)

    @property
    def unknown(self) -> list[str]:
        """Words of the text that the model does not know, stop words aside."""
        return list(self.data["document"]["unknown"])

    def __repr__(self) -> str:
        on = [topic["topic"] for topic in self.data["topics"] if topic["on"]]
        return f"<Explanation: {', '.join(on) or 'no topic is on'}; bound {self.elbo:.4f}>"

    def _repr_html_(self) -> str:
        return self.svg
