#!/usr/bin/env python3
"""Topics without a graph, by moments of second and third order: an experiment, docs/moments.md has what came of it.

    topics-from-moments.py split SOURCE SEED DIR             DIR/train.jsonl and DIR/test.jsonl, 80 and 20 %, of a table of zeros and ones (.csv.gz) or
                                                             of 8,000 descriptions (.tsv.gz, third column), of their 1,000 most frequent words
    topics-from-moments.py suggest DOCS TOPICS GRAPH [all]   a graph with weights; `all`: with every other edge, of weight 0.02

A topic that is on with probability p, and under which a token is absent less often by d, makes r_ab = M_ab / (M_a M_b) - 1 of two tokens of no other
common topic the product of their y = sqrt(p (1 - p)) d / M. A triplet so gives y of its three tokens, and of every other token three answers, which other
topics only make larger: the least counts. The triplet whose topic explains most of all r gives a topic, p follows from third cumulants, and the topic is
divided out of all moments. Then the next topic.
"""
import gzip
import json
import math
import random
import re
import sys
from itertools import combinations
from pathlib import Path

LEAST_DOCS, FEW_TOKENS, PAIRS, THIRDS, STRONGEST = 10, 200, 150, 6, 10


def split(source, seed, folder):
    with gzip.open(source, "rt") as file:
        if source.endswith(".csv.gz"):
            docs = [[str(at + 1) for at, x in enumerate(line.strip().split(",")) if x == "1"] for line in file]
        else:
            lines = random.Random(12345).sample(list(file), 8000)
            docs = [sorted(set(re.findall(r"[a-z][a-z+-]{2,}", line.split("\t", 2)[2].lower()))) for line in lines]
            counts = {}
            for word in (word for doc in docs for word in doc):
                counts[word] = counts.get(word, 0) + 1
            words = sorted((word for word in counts if counts[word] <= 0.1 * len(docs)), key=lambda word: (-counts[word], word))
            kept = set(words[:1000])
            docs = [[word for word in doc if word in kept] for doc in docs]
    random.Random(seed).shuffle(docs)
    cut = len(docs) * 4 // 5
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", docs[:cut]), ("test", docs[cut:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"tokens": doc}) + "\n" for doc in part))


class Moments:
    """Columns of documents as bits, and r of all pairs with the topics found so far divided out."""

    def __init__(self, docs):
        self.n_docs = len(docs)
        self.rows = {}
        for at, doc in enumerate(docs):
            for token in set(doc):
                self.rows.setdefault(token, []).append(at)
        self.names = sorted(token for token, rows in self.rows.items() if len(rows) >= LEAST_DOCS)
        self.bits = [self.column(self.rows[name]) for name in self.names]
        counts = [bits.bit_count() for bits in self.bits]
        self.absent = [1 - count / self.n_docs for count in counts]
        self.odds = [(1 - m) / m for m in self.absent]
        self.topics = []
        self.r = [{} for _ in self.names]
        every = len(self.names) <= FEW_TOKENS
        for a, b in combinations(range(len(self.names)), 2):
            both = (self.bits[a] & self.bits[b]).bit_count()
            if every or both >= 3:
                value = (1 - (counts[a] + counts[b] - both) / self.n_docs) / (self.absent[a] * self.absent[b]) - 1
                if every or value > 2.5 * self.error(a, b):
                    self.r[a][b] = self.r[b][a] = value

    def column(self, rows):
        column = bytearray((self.n_docs + 7) // 8)
        for at in rows:
            column[at >> 3] |= 1 << (at & 7)
        return int.from_bytes(column, "little")

    def error(self, a, b):
        """Standard error of r where tokens are independent."""
        return math.sqrt(self.odds[a] * self.odds[b] / self.n_docs)

    def sure(self, a, b):
        return self.r[a][b] / self.error(a, b)

    def third_cumulant(self, tokens):
        """Over the product of the shares."""
        bits, shares = 0, 1.0
        for token in tokens:
            bits, shares = bits | self.bits[token], shares * self.absent[token]
        ratio = (1 - bits.bit_count() / self.n_docs) / shares
        for topic in self.topics:
            ratio *= math.prod(influence(topic, [token]) for token in tokens) / influence(topic, tokens)
        return ratio - 1 - sum(self.r[a].get(b, 0.0) for a, b in combinations(tokens, 2))

    def ys(self, a, b, c):
        r = self.r
        ab, ac, bc = r[a][b], r[a][c], r[b][c]
        y = {a: math.sqrt(ab * ac / bc), b: math.sqrt(ab * bc / ac), c: math.sqrt(ac * bc / ab)}
        for d in (r[a].keys() & r[b].keys() & r[c].keys()) - {a, b, c}:
            answers = sorted((r[x][d] / y[x], self.error(x, d) / y[x]) for x in (a, b, c))
            # The least of three is too small by noise alone.
            value = answers[0][0] + 0.5 * answers[0][1]
            if value > 2 * min(error for _, error in answers):
                y[d] = min(value, answers[1][0])
        return y

    def strongest(self, y, n):
        return sorted(y, key=lambda token: -y[token] / math.sqrt(self.odds[token]))[:n]

    def gain(self, y):
        """By how much the weighted squares of r fall; what is explained twice counts four times."""
        total = 0.0
        for a, b in combinations(self.strongest(y, 40), 2):
            old = self.r[a].get(b, 0.0)
            new = old - y[a] * y[b]
            total += (old * old - new * new * (4 if new < 0 else 1)) / self.error(a, b) ** 2
        return total

    def topic(self, y):
        """The prior from third cumulants, s y_a y_b y_c with s = (2p - 1) / sqrt(p (1 - p)), by least squares; then failures."""
        top = bottom = 0.0
        for tokens in combinations(self.strongest(y, STRONGEST), 3):
            weight = 1 / math.prod(self.odds[token] for token in tokens)
            product = math.prod(y[token] for token in tokens)
            top += weight * self.third_cumulant(tokens) * product
            bottom += weight * product * product
        s = top / bottom
        p = min(max((1 + s / math.sqrt(s * s + 4)) / 2, 2 / self.n_docs), 0.9)
        failures = {}
        for token, value in y.items():
            d = value * self.absent[token] / math.sqrt(p * (1 - p))
            failure = max((self.absent[token] - (1 - p) * d) / (self.absent[token] + p * d), 0.02)
            if failure < 0.98:
                failures[token] = failure
        return p, failures

    def best(self):
        """y of the triplet that explains most, of those of the surest pairs; or none."""
        pairs = [(self.sure(a, b), a, b) for a in range(len(self.r)) for b in self.r[a] if a < b and self.sure(a, b) > 4]
        best, seen = (0.0, None), set()
        for _, a, b in sorted(pairs, reverse=True)[:PAIRS]:
            least = lambda c: min(self.sure(a, c), self.sure(b, c))
            common = [c for c in self.r[a].keys() & self.r[b].keys() if least(c) > 3]
            for c in sorted(common, key=least, reverse=True)[:THIRDS]:
                if frozenset((a, b, c)) not in seen:
                    seen.add(frozenset((a, b, c)))
                    y = self.ys(a, b, c)
                    best = max(best, (self.gain(y), y), key=lambda one: one[0])
        return best[1]

    def divide_out(self, topic):
        self.topics.append(topic)
        for a, b in combinations(topic[1], 2):
            ratio = influence(topic, [a]) * influence(topic, [b]) / influence(topic, [a, b])
            self.r[a][b] = self.r[b][a] = (1 + self.r[a].get(b, 0.0)) * ratio - 1

    def write(self, path, all_edges):
        number = {name: at for at, name in enumerate(self.names)}
        lines = []
        for at, (p, failures) in enumerate(self.topics):
            lines.append(f"\ttopic{at}\t{-math.log1p(-p):.9g}")
            for name in sorted(self.rows):
                if number.get(name) in failures:
                    lines.append(f"topic{at}\t{name}\t{-math.log(failures[number[name]]):.9g}")
                elif all_edges:
                    lines.append(f"topic{at}\t{name}\t0.02")
        for name, rows in sorted(self.rows.items()):
            share = len(rows) / self.n_docs
            left = (1 - share) / math.prod(influence(topic, [number.get(name)]) for topic in self.topics)
            lines.append(f"\t{name}\t{-math.log(min(left, 1 - 0.05 * share)):.9g}")
        path.write_text("\n".join(lines) + "\n")


def influence(topic, tokens):
    p, failures = topic
    return 1 - p + p * math.prod(failures.get(token, 1.0) for token in tokens)


def suggest(docs, n_topics, graph, all_edges):
    moments = Moments([json.loads(line)["tokens"] for line in docs.read_text().splitlines()])
    while len(moments.topics) < n_topics:
        y = moments.best()
        topic = moments.topic(y) if y else (0.0, {})
        if not topic[1]:
            break
        moments.divide_out(topic)
    moments.write(graph, all_edges)
    print(f"{len(moments.topics)} topics, {sum(len(failures) for _, failures in moments.topics)} edges")


if sys.argv[1:2] == ["split"] and len(sys.argv) == 5:
    split(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
elif sys.argv[1:2] == ["suggest"] and len(sys.argv) in (5, 6):
    suggest(Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:] == ["all"])
else:
    sys.exit(__doc__)
