"""The package and the program that pip installed: they are found, have one version, and infer the same."""

import gzip
import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import scipy.sparse as sp

import noisyor

sample = Path(sys.argv[1])
program = Path(sysconfig.get_path("scripts")) / "noisyor"
version = subprocess.check_output([program, "--version"], text=True)
assert subprocess.check_output([sys.executable, "-m", "noisyor", "--version"], text=True) == version
assert version.split()[1] == noisyor.__version__, version

with gzip.open(sample / "corpus.jsonl.gz", "rt") as file:
    documents = [json.loads(line)["tokens"] for _, line in zip(range(100), file)]
found = noisyor.Model.load(sample / "network.tsv").infer(documents, backend="cpu").to_csr()
Path("some.jsonl").write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in documents))
infer = [program, "infer", sample / "network.tsv", "some.jsonl", "-o", "some.npz", "--backend", "cpu", "--quiet"]
subprocess.run(infer, check=True)
assert (found != sp.load_npz("some.npz")).nnz == 0 and found.nnz > 100
print(f"{version.strip()}: {program}, {Path(noisyor.__file__).parent}")
