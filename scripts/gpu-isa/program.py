"""A kernel as the driver compiled it: what compile.c prints, read."""
import re

VECTOR_MEMORY = re.compile(r"(buffer|global|flat|scratch)_(load|store|atomic)")
BRANCH = re.compile(r"s_c?branch\S*\s+(BB\d+)")


class Program:
    def __init__(self, text):
        head, self.code = text.split("\n\n", 1)
        statistics = dict(line.split("\t") for line in head.splitlines())
        self.device, self.driver = statistics["device"], statistics["driver"]
        number = {name: int(value) for name, value in statistics.items() if value.isdigit()}
        self.vgprs = number["VGPRs"]
        # All programs are given 128; this is what they need.
        self.sgprs = number["Pre-Sched SGPRs"]
        self.spilled = number["Spilled VGPRs"] + number["Spilled SGPRs"]
        self.scratch_bytes = number["Scratch size"]
        self.shared_bytes = number["LDS size"]
        # RADV counts waves of 32 lanes, also where a wave has 64.
        self.waves = number["Subgroups per SIMD"] * 32 // number["Subgroup size"]
        self.code_bytes = number["Code size"]
        self.instructions = number["Instructions"]
        # Vector-memory instructions of the innermost loops that have any, in the order of the code.
        loops = innermost_loops(self.code.split("##### Assembly\n", 1)[1])
        counts = [sum(VECTOR_MEMORY.match(instruction) is not None for instruction in loop) for loop in loops]
        self.loops = [count for count in counts if count > 0]


def innermost_loops(assembly):
    """The instructions of every loop that has no other loop inside."""
    names, blocks = [], []
    for line in assembly.splitlines():
        if line.startswith("BB"):
            names.append(line.rstrip(":"))
            blocks.append([])
        elif line.startswith("\t") and not line.startswith("\t("):
            blocks[-1].append(line.split(";")[0].strip())
    # A loop goes from a block to the last one that jumps back to it.
    ends = {}
    for at, block in enumerate(blocks):
        for target in (match[1] for match in map(BRANCH.match, block) if match):
            if names.index(target) <= at:
                ends[names.index(target)] = at
    return [
        [instruction for block in blocks[begin : end + 1] for instruction in block]
        for begin, end in sorted(ends.items())
        if not any(begin < other <= end for other in ends)
    ]
