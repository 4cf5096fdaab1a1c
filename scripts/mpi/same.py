"""What ranks compute has the bytes of one process; what does not fit together is refused."""
import gzip

SIZES = [1, 2, 3, 4]


def trains_the_same(suite, launcher, kind, reference, sizes=SIZES):
    for n in sizes:
        run = suite.folder(kind.name)
        ended = suite.run(*suite.train(kind, run), before=launcher.before(n))
        fault = str(ended) if ended.status else reference.difference(run)
        suite.check(f"trained on {n} ranks of {launcher.mpi}: {kind.name}", fault)
        suite.note(f"seconds on {n} ranks of {launcher.mpi}: {kind.name}", f"{ended.seconds:.1f}")


def infers_the_same(suite, launcher, model, corpus):
    for name in ["topics.tsv", "topics.jsonl"]:
        plain = suite.folder(name).with_suffix("." + name.split(".")[1])
        suite.run("infer", model, corpus, "-o", plain, "--backend", "cpu")
        for n in SIZES:
            output = suite.folder(name).with_suffix(plain.suffix)
            command = ["infer", model, corpus, "-o", output, "--backend", "cpu", "--part-docs", "1000"]
            ended = suite.run(*command, before=launcher.before(n))
            same = ended.status == 0 and output.read_bytes() == plain.read_bytes()
            suite.check(f"{name} of {n} ranks", None if same else f"{output}: {ended}")


def parts_are_the_whole(suite, launcher, kind, corpus, reference):
    """A part of the corpus for each rank."""
    lines = read_lines(corpus)
    for n in [2, 3]:
        folder = suite.folder("parts")
        folder.mkdir()
        ends = [len(lines) * i // n for i in range(n + 1)]
        for i in range(n):
            (folder / f"part-{i}{corpus.suffix}").write_text("".join(lines[ends[i] : ends[i + 1]]))
        run = suite.folder(kind.name)
        options = kind.options.replace(str(corpus), str(folder / f"part-{{part}}{corpus.suffix}"))
        ended = suite.run("train", *options.split(), "--backend", "cpu", "-o", run, before=launcher.before(n))
        suite.check(f"{n} parts", str(ended) if ended.status else reference.difference(run))


def read_lines(corpus):
    with gzip.open(corpus, "rt") if corpus.suffix == ".gz" else open(corpus) as file:
        return file.readlines()


def differences_are_refused(suite, launcher, kind, corpus):
    """Ranks that were given other options, or other documents under the same name."""
    options = ["train", *kind.options.split(), "--backend", "cpu", "-o", suite.folder("refused")]
    other = [option if option != "--valid" else "--test" for option in options]
    refused(suite, "other options", launcher, options, other)
    folders = [suite.folder("data"), suite.folder("data")]
    lines = read_lines(corpus)
    for folder, documents in zip(folders, [lines, lines[1:]]):
        folder.mkdir()
        (folder / corpus.name).write_text("".join(documents))
    # The same command, on machines whose files differ: here, a rank whose folder of that name is another one.
    here, there = (folder / corpus.name for folder in folders)
    options = ["train", *kind.options.replace(str(corpus), str(here)).split(), "--backend", "cpu", "-o", suite.folder("refused")]
    swap = f"mount --bind {there} {here} && exec"
    command = " ".join(str(part) for part in [suite.noisyor, *options])
    refused(suite, "other documents", launcher, options, ["unshare", "-m", "sh", "-c", f"{swap} {command}"], noisyor=())


def refused(suite, what, launcher, first, second, noisyor=None):
    """Two ranks, each with a command of its own, of which the second does not fit."""
    noisyor = [suite.noisyor] if noisyor is None else noisyor
    *mpirun, _, _ = launcher.before(2)
    before = [*mpirun, "-n", "1"]
    ended = suite.run(*first, ":", "-n", "1", *noisyor, *second, before=before)
    names = "rank 1" in ended.text and ended.status == 2
    suite.check(f"refused: {what}", None if names and ended.seconds < 30 else str(ended))


def has_no_feature(suite, plain, launcher):
    """A program without MPI, started several times."""
    run = suite.folder("refused")
    before = launcher.before(2)
    suite_noisyor, suite.noisyor = suite.noisyor, plain
    ended = suite.run("train", "-o", run, before=before)
    suite.noisyor = suite_noisyor
    fine = ended.status == 2 and "without the feature mpi" in ended.text and not run.exists()
    suite.check("refused: a program without MPI", None if fine else str(ended))
