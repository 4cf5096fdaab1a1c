"""Full disks: whatever cannot be written ends the program with status 3 and a message that names the file; then it goes on."""
import os
import re
import resource
import shutil
import signal
import subprocess

from runs import undisturbed

STEPS = 30  # sizes of the disk that are tried until all fits
CALLS = ["write", "fsync", "rename,renameat,renameat2", "ftruncate"]


def fault_of(ended, folder):
    """What is wrong with the end of a program that could not write to the folder."""
    if ended.status != 3 or "panicked" in ended.text:
        return str(ended)
    if str(folder) not in ended.text:
        return f"the message names no file: {ended}"
    return None


def named(ended, folder):
    """The file that a message names, with the number of a checkpoint left out."""
    found = re.search(re.escape(str(folder)) + r"/?([^\s:]*)", ended.text)
    return re.sub(r"\d+\.ckpt", "N.ckpt", found[1]) if found else "?"


def resumes(suite, kind, run, reference, what):
    ended = suite.run(*suite.again(kind, run, "--checkpoint-steps", "1"))
    fault = f"{run}: {ended}" if ended.status != 0 else reference.difference(run)
    suite.check(f"the same end after {what}", fault)


def mount(folder, size, *more):
    options = ",".join([*more, f"size={size}"])
    return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True).returncode == 0


def on_small_disks(suite, folder, total, trial):
    """Calls `trial` with growing disks mounted on `folder` until it says that all fitted."""
    folder.mkdir()
    for size in range(4096, 100 * total, max(4096, total // STEPS)):
        if not mount(folder, size):
            return print("left out: full disks, which need root to mount a tmpfs", flush=True)
        try:
            if trial():
                return None
        finally:
            subprocess.run(["umount", folder], check=True)
    raise SystemExit(f"{folder}: no size was enough")


def train_on_small_disks(suite, kind, reference):
    what, disk, hit = "full disk: train", suite.folder("disk"), {}
    run = disk / "run"

    def trial():
        ended = suite.run(*suite.train(kind, run, "--checkpoint-steps", "1"))
        if ended.status == 0:
            return suite.check(what, reference.difference(run)) or True
        suite.check(what, fault_of(ended, disk))
        file = named(ended, run)
        hit[file] = hit.get(file, 0) + 1
        mount(disk, 1 << 26, "remount")
        resumes(suite, kind, run, reference, "a full disk")
        return False

    on_small_disks(suite, disk, 10 * len(reference.model), trial)
    suite.note(what, ", ".join(f"{file} {n}" for file, n in sorted(hit.items())))


def write_on_small_disks(suite, name, command, output, resume=()):
    """A command that writes one file: it is there as a whole, or not at all; one that can resume may leave finished parts."""
    what, disk = f"full disk: {name}", suite.folder("disk")
    whole = suite.folder(name) / output
    whole.parent.mkdir()
    ended = suite.run(*command, "-o", whole)
    if ended.status != 0:
        raise SystemExit(f"{name}: {ended}")

    def trial():
        ended = suite.run(*command, "-o", disk / output)
        if ended.status == 0:
            differs = (disk / output).read_bytes() != whole.read_bytes()
            return suite.check(what, "it differs from the one on a large disk" if differs else None) or True
        left = [name for name in os.listdir(disk) if not (resume and name == f"{output}.parts")]
        suite.check(what, fault_of(ended, disk) or (left and f"left behind: {left}"))
        if resume:
            mount(disk, 1 << 26, "remount")
            ended = suite.run(*command, *resume, "-o", disk / output)
            same = ended.status == 0 and (disk / output).read_bytes() == whole.read_bytes()
            suite.check("the same end after a full disk", None if same else f"{name}: {ended}")
        return False

    on_small_disks(suite, disk, whole.stat().st_size, trial)


def train_with_small_files(suite, kind, reference):
    """RLIMIT_FSIZE: no file may be larger than so many bytes."""
    what, hit = "file size limit: train", {}
    for limit in range(512, 1 << 30, max(1024, len(reference.model) // 8)):
        run = suite.folder("limit")
        # Python ignores SIGXFSZ, and so does what it starts: writing fails instead.
        assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
        limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        command = suite.train(kind, run, "--checkpoint-steps", "1")
        ended = suite.run(*command, preexec_fn=limited, restore_signals=False)
        if ended.status == 0:
            suite.check(what, reference.difference(run))
            break
        suite.check(what, fault_of(ended, run))
        file = named(ended, run)
        hit[file] = hit.get(file, 0) + 1
        resumes(suite, kind, run, reference, "a file size limit")
    suite.note(what, ", ".join(f"{file} {n}" for file, n in sorted(hit.items())))


def train_with_failing_calls(suite, kind, reference):
    """Every call that writes a file, syncs or renames it, fails once."""
    if not shutil.which("strace"):
        return print("left out: every write failing once, which needs strace", flush=True)
    log = suite.work / "calls.txt"
    for call in CALLS:
        what, hit = f"failing {call.split(',')[0]}: train", {}
        for at in range(1, 1000):
            run = suite.folder("call")
            inject = f"inject={call}:error={'EIO' if call == 'fsync' else 'ENOSPC'}:when={at}"
            before = ["strace", "-f", "-y", "-o", log, "-e", f"trace={call}", "-e", inject]
            ended = suite.run(*suite.train(kind, run, "--checkpoint-steps", "1", "--threads", "1"), before=before)
            failed = [line for line in log.read_text(errors="replace").splitlines() if "(INJECTED)" in line]
            if not failed:
                break
            # A folder that cannot be synced and a message that cannot be written are nobody's fault.
            file = re.search(re.escape(str(run)) + r"/([^\">]*[^\">/])", failed[0])
            if file and file[1] != "checkpoint":
                suite.check(what, fault_of(ended, run) and f"{failed[0]}: {ended}")
                hit[named(ended, run)] = hit.get(named(ended, run), 0) + 1
            if ended.status != 0:
                resumes(suite, kind, run, reference, "a failing call")
            shutil.rmtree(run, ignore_errors=True)
        suite.note(what, ", ".join(f"{file} {n}" for file, n in sorted(hit.items())))


def disks(suite, kind, corpus, text):
    reference = undisturbed(suite, kind)
    model = suite.work / "disk-model.safetensors"
    model.write_bytes(reference.model)
    train_on_small_disks(suite, kind, reference)
    for extension in ["jsonl", "tsv", "parquet", "npz"]:
        write_on_small_disks(suite, f"infer .{extension}", ["infer", model, corpus], f"topics.{extension}")
    in_parts = ["infer", model, corpus, "--part-docs", "100"]
    write_on_small_disks(suite, "infer in parts", in_parts, "topics.jsonl", ["--resume"])
    write_on_small_disks(suite, "corpus", ["corpus", text], "corpus.noisyor")
    train_with_small_files(suite, kind, reference)
    train_with_failing_calls(suite, kind, reference)
    print("full disks: done", flush=True)
