"""`python -m noisyor`: the program that came with this package, also where its folder is not in PATH."""

import os
import sys
import sysconfig
from pathlib import Path


def program() -> str:
    """Where pip put the program: into an environment, for a user, or beside the package in a ``--target``."""
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    for folder in (sysconfig.get_path("scripts"), user, Path(__file__).parents[1] / "bin"):
        path = Path(folder, "noisyor" + (sysconfig.get_config_var("EXE") or ""))
        if path.is_file():
            return str(path)
    sys.exit("this installation of the package has no program; `pip install` of the sources or of their wheel brings it")


if __name__ == "__main__":
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
