"""Damaged files: flipped bits, cuts, zeros and additions are refused by name; an older checkpoint is gone on from."""
import shutil

from runs import checkpoints, undisturbed


def damaged(suite, good, n_flips):
    """Damages of a file: what was done, and the bytes."""
    chance = suite.random
    for _ in range(n_flips):
        bit = chance.randrange(8 * len(good))
        yield f"bit {bit} flipped", good[: bit // 8] + bytes([good[bit // 8] ^ 1 << bit % 8]) + good[bit // 8 + 1 :]
    for _ in range(max(1, n_flips // 20)):
        at = chance.randrange(len(good))
        yield f"cut to {at} bytes", good[:at]
        end = min(len(good), at + chance.choice([16, 512, 4096]))
        zeros = good[:at] + bytes(end - at) + good[end:]
        if zeros != good:
            yield f"zeros from {at} to {end}", zeros
        more = chance.choice([1, 100, 4096])
        yield f"{more} bytes added", good + chance.randbytes(more)


def refusal(ended, file):
    """What is wrong with the refusal of a file."""
    if ended.status != 2 or "panicked" in ended.text:
        return str(ended)
    return None if str(file) in ended.text else f"the message does not name {file.name}: {ended}"


def models(suite, model, n):
    """Damages of a model, in both formats."""
    for extension in ["safetensors", "json"]:
        what, good = f"damaged model: .{extension}", suite.work / f"good.{extension}"
        bad, same, again = suite.work / f"bad.{extension}", 0, suite.work / "again.safetensors"
        suite.run("model", "convert", model, good)
        for damage, content in damaged(suite, good.read_bytes(), n):
            bad.write_bytes(content)
            ended = suite.run("topics", bad)
            # Some damage of a text changes nothing that it says: 1e-3 and 1E-3.
            if ended.status == 0 and suite.run("model", "convert", bad, again).status == 0:
                same += again.read_bytes() == model.read_bytes()
                suite.check(what, None if again.read_bytes() == model.read_bytes() else f"{damage}: not noticed")
            else:
                suite.check(what, (fault := refusal(ended, bad)) and f"{damage}: {fault}")
            again.unlink(missing_ok=True)
        suite.note(what, f"{same} say the same" if same else "all refused")
        print(f"{what}: done", flush=True)


def stopped(suite, kind):
    """A run that was killed after a few checkpoints."""
    run = suite.folder("stopped")
    process = suite.start(*suite.train(kind, run, "--checkpoint-steps", "1"))
    if not process.until(lambda: len(checkpoints(run)) > 1 and int(checkpoints(run)[-1].stem) > 3):
        raise SystemExit(f"{kind.name}: too short to be stopped: {process.end()}")
    process.kill()
    return run


def the_only_checkpoint(suite, run, n):
    what, copy = "damaged checkpoint: the only one", suite.copy(run)
    for older in checkpoints(copy)[:-1]:
        older.unlink()
    [file] = checkpoints(copy)
    good = file.read_bytes()
    before = sorted(path.name for path in copy.rglob("*") if not path.name.startswith(".noisyor-"))
    for damage, content in damaged(suite, good, n):
        file.write_bytes(content)
        fault = refusal(suite.run("train", "--resume", copy), file)
        if not fault and (file.read_bytes() != content or sorted(path.name for path in copy.rglob("*")) != before):
            fault = "the folder was changed"
        if not suite.check(what, fault and f"{damage}: {fault}"):
            shutil.rmtree(copy)
            shutil.copytree(run, copy)
            [older.unlink() for older in checkpoints(copy)[:-1]]
    shutil.rmtree(copy)


def the_newest_checkpoint(suite, run, reference, n):
    what = "damaged checkpoint: an older one beside it"
    good = checkpoints(run)[-1].read_bytes()
    for damage, content in list(damaged(suite, good, n)):
        copy = suite.copy(run)
        newest, older = checkpoints(copy)[-1], checkpoints(copy)[-2]
        newest.write_bytes(content)
        ended = suite.run("train", "--resume", copy)
        fault = None
        if ended.status != 0:
            fault = str(ended)
        elif "warning" not in ended.text or str(newest) not in ended.text:
            fault = f"no warning that names {newest.name}: {ended}"
        if suite.check(what, (fault := fault or reference.difference(copy)) and f"{damage}: {fault}"):
            shutil.rmtree(copy)


def the_config(suite, run, reference, n):
    """Options are checked, too: a damaged config is refused or harmless."""
    what, same = "damaged config", 0
    good = (run / "config.json").read_bytes()
    for damage, content in damaged(suite, good, n):
        copy = suite.copy(run)
        (copy / "config.json").write_bytes(content)
        ended = suite.run("train", "--resume", copy)
        same += ended.status == 0
        fault = reference.difference(copy) if ended.status == 0 else None
        # A name of a corpus that is not there is an error of input and output.
        if ended.status not in [0, 2, 3] or "panicked" in ended.text:
            fault = str(ended)
        if suite.check(what, fault and f"{damage}: {fault}"):
            shutil.rmtree(copy)
    suite.note(what, f"{same} harmless")


def damages(suite, kind, n):
    reference = undisturbed(suite, kind)
    model = suite.work / "damage-model.safetensors"
    model.write_bytes(reference.model)
    run = stopped(suite, kind)
    the_only_checkpoint(suite, run, n)
    the_newest_checkpoint(suite, run, reference, max(5, n // 50))
    the_config(suite, run, reference, max(5, n // 10))
    print("damaged checkpoints: done", flush=True)
    models(suite, model, n)
