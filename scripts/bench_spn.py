"""Evaluates a network that `cargo bench --bench spn` exported with SPFlow: python bench_spn.py FILE ROWS."""

import json
import sys
import time

import numpy as np
from spn.algorithms.Inference import log_likelihood
from spn.structure.Base import Product, Sum, assign_ids, rebuild_scopes_bottom_up
from spn.structure.leaves.parametric.Parametric import Bernoulli

file = json.load(open(sys.argv[1]))
nodes = []
for node in file["nodes"]:
    if "leaf" in node:
        nodes.append(Bernoulli(p=node["p"], scope=node["leaf"]))
    elif "sum" in node:
        # SPFlow insists on a sum of exactly one to its own tolerance.
        weights = np.array(node["weights"])
        nodes.append(Sum(weights=list(weights / weights.sum()), children=[nodes[child] for child in node["sum"]]))
    else:
        nodes.append(Product(children=[nodes[child] for child in node["product"]]))
root = nodes[-1]
rebuild_scopes_bottom_up(root)
assign_ids(root)

rows = file["rows"][: int(sys.argv[2])]
table = np.zeros((len(rows), file["n_tokens"]))
for row, tokens in enumerate(rows):
    table[row, tokens] = 1.0
begin = time.process_time()
log_p = log_likelihood(root, table)[:, 0]
rate = len(rows) / (time.process_time() - begin)
difference = np.abs(log_p - np.array(file["log_p"][: len(rows)])).max()
ours = file["rows_per_cpu_second"]
print(f"SPFlow: {rate:.0f} rows per CPU-second ({len(rows)} rows, {len(nodes)} nodes)")
print(f"noisyor: {ours:.0f} rows per CPU-second, {ours / rate:.0f} times as many; largest difference {difference:.1e} nats")
if difference > 1e-6:
    sys.exit("the two programs differ")
