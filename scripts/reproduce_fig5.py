#!/usr/bin/env python3
"""Fig. 5 of Ji et al.: labels of tiny20 from what models say of documents. Called by scripts/reproduce-tiny20.sh.

reproduce_fig5.py OUT FILE.svg    draws the figure, writes the accuracies to OUT/accuracy.json

One linear SVM a label (squared hinge); the largest value decides. C is chosen by five-fold cross-validation on the training part. Features are
standardised within each document, as in the paper, or raw.
"""
import json
import os
import statistics
import sys
import zlib

import numpy as np
import scipy.sparse as sp
import svg
from side_by_side import Corpus, LinearSvm

SEEDS, TOPICS, FOLDS = range(5), range(2, 10), 5
PENALTIES = [2.0**power for power in range(-6, 7)]
# Accuracies this close are the same: the smallest C of the best is taken.
SAME = 1e-12
# (folder, name, colour): networks; Bernoulli LDA is a curve.
NETWORKS = [
    ("learned", "learned graph, `tail`", "#1b6ca8"),
    ("learned-local", "learned graph, `local`", "#8e5ea2"),
    ("adam", "Dedieu et al.'s graph, Adam on `tail`", "#e76f51"),
    ("adam-local", "Dedieu et al.'s graph, Adam on `local`", "#c9a227"),
    ("em", "Dedieu et al.'s graph, EM on `tail`", "#2a9d8f"),
]
LDA_COLOUR, GREY = "#264653", "#888"
WIDTH, HEIGHT, LOW, HIGH = 720, 460, 0.3, 0.9


def within_documents(features):
    """Less the mean of each document, over its standard deviation; 0 where there is none."""
    features = features - features.mean(1, keepdims=True)
    deviation = features.std(1, keepdims=True)
    return np.divide(features, deviation, out=np.zeros_like(features), where=deviation > 1e-12)


def chosen_penalty(features, labels, seed):
    """C with the best accuracy on the folds that the SVM did not see; folds by a hash of seed and document."""
    fold = np.array([zlib.crc32(f"{seed} {row}".encode()) % FOLDS for row in range(len(labels))])
    best = (-1.0, PENALTIES[0])
    for penalty in PENALTIES:
        right = 0.0
        for held in range(FOLDS):
            svm = LinearSvm(penalty).fit(features[fold != held], labels[fold != held])
            right += svm.score(features[fold == held], labels[fold == held]) * (fold == held).mean()
        if right > best[0] + SAME:
            best = (right, penalty)
    return best[1]


def accuracy(parts, labels, seed):
    """Share of the test part whose label is right; `parts` are the features of the training and the test part."""
    svm = LinearSvm(chosen_penalty(parts[0], labels[0], seed), 1000).fit(parts[0], labels[0])
    return svm.score(parts[1], labels[1])


def measure(out):
    """Accuracies over the splits, by row and form of the features."""
    rows = [row for row, _, _ in NETWORKS] + [f"lda-{topics}" for topics in TOPICS]
    found = {row: {"standardised": [], "raw": []} for row in rows} | {"words": {"raw": []}}
    for seed in SEEDS:
        corpora = [Corpus(f"{out}/split-{seed}/{part}.corpus") for part in ("train", "test")]
        labels = [corpus.labels for corpus in corpora]
        found["words"]["raw"].append(accuracy([corpus.words for corpus in corpora], labels, seed))
        for row in rows:
            files = [f"{out}/{row}-{seed}/{part}.npz" for part in ("train", "test")]
            raw = [np.asarray(sp.load_npz(file).todense(), dtype=np.float64) for file in files]
            found[row]["raw"].append(accuracy(raw, labels, seed))
            found[row]["standardised"].append(accuracy([within_documents(part) for part in raw], labels, seed))
            print(f"split {seed}, {row}: {found[row]['standardised'][-1]:.3f}, raw {found[row]['raw'][-1]:.3f}", file=sys.stderr)
    json.dump(found, open(f"{out}/accuracy.json", "w"))
    return found


def plot(found, file):
    panel = svg.Panel((70, WIDTH - 270, 24, HEIGHT - 60), (TOPICS[0], TOPICS[-1]), (LOW, HIGH))
    panel.rows([LOW + 0.1 * step for step in range(7)], lambda value: f"{value:.1f}")
    panel.ticks(TOPICS, "topics of Bernoulli LDA")
    names = panel.right + 14

    def curve(form, colour, name):
        points = [(topics, statistics.mean(found[f"lda-{topics}"][form])) for topics in TOPICS]
        panel.curve(points, colour)
        panel.dots(points, colour, 3)
        return points[-1][1], colour, name

    lines = [curve("standardised", LDA_COLOUR, "Bernoulli LDA"), curve("raw", GREY, "the same, raw features")]
    for row, name, colour in NETWORKS:
        level = statistics.mean(found[row]["standardised"])
        panel.curve([(TOPICS[0], level), (TOPICS[-1], level)], colour, 1.6)
        lines.append((level, colour, name.replace("`", "")))
    # From the highest to the lowest, a line apart.
    y = 0.0
    for level, colour, name in sorted(lines, reverse=True):
        y = max(y + 16, panel.y(level) + 4)
        panel.text(names, y, f"{name}: {level:.3f}", more=f' fill="{colour}"')
    svg.write(file, WIDTH, HEIGHT, [panel], "accuracy of the labels of the test part")


if __name__ == "__main__":
    folder, figure = sys.argv[1:]
    given = f"{folder}/accuracy.json"
    plot(json.load(open(given)) if os.path.exists(given) else measure(folder), figure)
