"""The check of scripts/gpu-isa.sh: python3 scripts/gpu-isa COMPILE FOLDER, with the kernels in FOLDER/spirv (no packages needed)."""
import os
import subprocess
import sys
from pathlib import Path

from program import Program

# RDNA2 (gfx1030) and RDNA3 (gfx1100), as Mesa calls them. A SIMD of either has room for 16 waves.
FAMILIES = ("navi21", "navi31")
FLOORS = Path(__file__).with_name("floors.tsv")


def compiled(compiler, spirv, family, folder):
    """A kernel compiled for a family; the code is kept in the folder."""
    # Up to 25, Mesa has a null device of the family; later it opens a card that the shim makes up.
    device = {"RADV_FORCE_FAMILY": family, "AMDGPU_GPU_ID": family, "LD_PRELOAD": os.environ.get("DRM_SHIM", "")}
    environment = dict(os.environ, MESA_SHADER_CACHE_DISABLE="true", **device)
    command = [compiler, spirv, f"RADV {family.upper()}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {spirv.name} cannot be compiled for {family}:\n{done.stderr}")
    program = Program(done.stdout)
    (folder / f"{spirv.stem}.{family}.txt").write_text(program.code)
    return program


def read_floors():
    """The numbers of each kernel's row."""
    columns, *rows = [line.split("\t") for line in FLOORS.read_text().splitlines() if not line.startswith("#")]
    if columns != ["kernel", "rows", *FAMILIES, "memory", "loop"]:
        raise SystemExit(f"error: {FLOORS} has columns {columns}")
    return {f"{kernel}.{lanes}": dict(zip(columns[2:], map(int, numbers), strict=True)) for kernel, lanes, *numbers in rows}


def faults(programs, row):
    """What is wrong with a kernel."""
    for family, program in programs.items():
        if program.spilled or program.scratch_bytes:
            yield f"{family}: {program.spilled} registers spilled, {program.scratch_bytes} bytes of scratch memory; none may be"
        if program.waves < row[family]:
            yield f"{family}: {program.waves} waves a SIMD, with {program.vgprs} vector registers; {row[family]} are wanted"
        if program.shared_bytes > row["memory"]:
            yield f"{family}: {program.shared_bytes} bytes of workgroup memory; {row['memory']} are allowed"
        if max(program.loops, default=0) > row["loop"]:
            yield f"{family}: {max(program.loops)} vector-memory instructions in a loop; {row['loop']} are allowed"


def row_as_it_is(name, programs):
    """The row that a kernel would just pass."""
    waves = [program.waves for program in programs.values()]
    memory = max(program.shared_bytes for program in programs.values())
    loop = max(count for program in programs.values() for count in [0, *program.loops])
    return "\t".join(map(str, [*name.split("."), *waves, memory, loop]))


def all_faults(kernels, floors):
    for name in sorted(kernels.keys() | floors.keys()):
        if name not in floors:
            yield f"{name}: has no row in {FLOORS}; as it is: {row_as_it_is(name, kernels[name])}"
        elif name not in kernels:
            yield f"{name}: there is no such kernel; remove its row from {FLOORS}"
        else:
            yield from (f"{name}, {fault}" for fault in faults(kernels[name], floors[name]))


COLUMNS = {
    "vector registers": lambda program: program.vgprs,
    "scalar registers": lambda program: program.sgprs,
    "spilled": lambda program: program.spilled,
    "workgroup memory, bytes": lambda program: program.shared_bytes,
    "waves": lambda program: program.waves,
    "code, bytes": lambda program: program.code_bytes,
    "instructions": lambda program: program.instructions,
    "vector memory, by loop": lambda program: ", ".join(map(str, program.loops)) or "no loop",
}


def cell(values):
    """One value where the families agree, else each."""
    return " / ".join(map(str, values if len(set(values)) > 1 else values[:1]))


def table(kernels):
    """Markdown: a row a kernel."""
    yield "| kernel | rows | " + " | ".join(COLUMNS) + " |"
    yield "|---" * (2 + len(COLUMNS)) + "|"
    for name, programs in kernels.items():
        kernel, rows = name.split(".")
        cells = [cell([read(program) for program in programs.values()]) for read in COLUMNS.values()]
        yield f"| `{kernel}` | {rows} | " + " | ".join(cells) + " |"


def main():
    compiler, folder = sys.argv[1], Path(sys.argv[2])
    code = folder / "code"
    code.mkdir()
    kernels = {
        spirv.stem: {family: compiled(compiler, spirv, family, code) for family in FAMILIES}
        for spirv in sorted((folder / "spirv").glob("*.spv"))
    }
    if not kernels:
        raise SystemExit("error: there are no kernels")
    wrong = list(all_faults(kernels, read_floors()))
    driver = next(iter(kernels.values()))[FAMILIES[0]].driver
    print(f"{driver}; {' / '.join(FAMILIES)} where they differ\n")
    print("\n".join(table(kernels)), end="\n\n")
    n_kernels = len({name.split(".")[0] for name in kernels})
    print("\n".join([*wrong, f"{n_kernels} kernels in {len(kernels)} variants, {len(wrong)} failures"]))
    sys.exit(1 if wrong else 0)


main()
