"""kill -9, Ctrl-C and SIGTERM at random moments of training."""
import shutil
import signal
import time

from runs import aside, checkpoints, has_begun, undisturbed

MOST_ASIDE = 2  # one file at a time is written aside, and one more may be left from the process before
ENOUGH = 5.0  # seconds within which a signal must have ended the program


def moments(suite, reference, n):
    """When to kill: n times at random over the whole life, while checkpoints are written and after evaluations; then at the end."""
    after = lambda: ("after", suite.random.uniform(0, reference.start_up + reference.often_seconds / n))
    kinds = [("checkpoint",)] * (n // 5) + [("evaluation",)] * (n // 10)
    kinds += [after() for _ in range(n - len(kinds))]
    suite.random.shuffle(kinds)
    return kinds + [("end",)] * max(1, n // 10)


def reach(suite, process, run, reference, moment):
    """Waits for the moment; false if the program ended before it."""
    lines = lambda: (run / "metrics.jsonl").read_bytes().count(b"\n") if (run / "metrics.jsonl").exists() else 0
    match moment:
        case ("after", seconds):
            at = time.monotonic() + seconds
            return process.until(lambda: time.monotonic() >= at)
        case ("checkpoint",):
            old = set(aside(run))
            reached = process.until(lambda: set(aside(run)) - old, poll=0)
            time.sleep(suite.random.uniform(0, 0.002))
        case ("evaluation",):
            old = lines()
            reached = process.until(lambda: lines() > old)
            time.sleep(suite.random.uniform(0, 0.02))
        case ("end",):
            # What comes after the last evaluation, or a program that finds all done, does not live long.
            life = 0.01 if lines() < len(reference.metrics) else reference.start_up
            reached = process.until(lambda: lines() >= len(reference.metrics))
            time.sleep(suite.random.uniform(0, life))
    return reached and process.is_running()


def goes_on(suite, kind, run):
    """What is wrong with a run that was killed: a copy of it must go on from its newest checkpoint without complaint."""
    if not has_begun(run):
        return None
    copy = suite.copy(run)
    newest = checkpoints(copy)[-1:]
    process = suite.start("train", "--resume", copy, "--checkpoint-steps", "1")
    process.until(lambda: checkpoints(copy)[-1:] > newest)
    done = not process.is_running()
    ended = process.end() if done else process.kill()
    if done and ended.status != 0 or "warning" in ended.text:
        return f"{copy}: {ended}"
    if newest and "resuming" not in ended.text:
        return f"{copy}: did not go on from {newest[0].name}: {ended}"
    shutil.rmtree(copy)
    return None


def killed_often(suite, kind, n):
    reference = undisturbed(suite, kind)
    what, kills = f"kill -9: {kind.name}", []
    while sum(kills) < n:
        run = suite.folder(kind.name)
        kills.append(0)
        process = suite.start(*suite.train(kind, run, "--checkpoint-steps", "1"))
        for moment in moments(suite, reference, n - sum(kills)):
            if not reach(suite, process, run, reference, moment):
                break
            process.kill()
            kills[-1] += 1
            too_many = f"{run}: {len(aside(run))} files aside" if len(aside(run)) > MOST_ASIDE else None
            suite.check(what, too_many or goes_on(suite, kind, run))
            process = suite.start(*suite.again(kind, run, "--checkpoint-steps", "1"))
        ended = process.end()
        fault = f"{run}: {ended}" if ended.status != 0 else reference.difference(run)
        if suite.check("the same end after kills", fault and f"{kind.name}, {kills[-1]} kills: {fault}"):
            shutil.rmtree(run)
    suite.note(what, f"in one run: {max(kills)}")
    print(f"{what}: {sum(kills)}, in one run {max(kills)}", flush=True)


def signalled(suite, kind, name, n):
    """Stops a run by a signal, n times, and resumes it; checkpoints are those that the signal asks for."""
    reference, number, left, worst = undisturbed(suite, kind), getattr(signal, name), n, 0.0
    what = f"{name}: {kind.name}"
    while left > 0:
        run = suite.folder(kind.name)
        process = suite.start(*suite.train(kind, run))
        for at in range(left, 0, -1):
            wait = suite.random.uniform(0, reference.start_up + reference.seconds / at)
            if not reach(suite, process, run, reference, ("after", wait)):
                break
            sent = time.monotonic()
            process.popen.send_signal(number)
            ended = process.end()
            # Done before the signal came, or not yet listening for signals, which comes before the first word: nothing was tried.
            if ended.status == 0 or (ended.status == -number and not ended.text):
                process = suite.start(*suite.again(kind, run))
                continue
            left, worst = left - 1, max(worst, time.monotonic() - sent)
            fault = None
            if ended.status != 130:
                fault = str(ended)
            elif time.monotonic() - sent > ENOUGH:
                fault = f"{time.monotonic() - sent:.1f} s until the end"
            elif "to continue" not in ended.text and has_begun(run) and not checkpoints(run):
                fault = "no checkpoint"
            suite.check(what, fault and f"{run}: {fault}")
            process = suite.start(*suite.again(kind, run))
        ended = process.end()
        fault = f"{run}: {ended}" if ended.status != 0 else reference.difference(run)
        if suite.check("the same end after signals", fault):
            shutil.rmtree(run)
    suite.note(what, f"at most {worst:.2f} s to the end")
    print(f"{what}: {n} signals, at most {worst:.2f} s to the end", flush=True)


def kills(suite, kinds, n):
    for kind in kinds:
        killed_often(suite, kind, max(1, n // 10))


def signals(suite, kinds, n):
    for name in ["SIGINT", "SIGTERM"]:
        for at, kind in enumerate(kinds):
            signalled(suite, kind, name, (n + at) // len(kinds))
