"""`python -m noisyor`: the program that came with this package, also where its folder is not in PATH."""

import os
import sys
from importlib import metadata


def program() -> str:
    """Where pip put the program: `bin` of an environment, of a user, or of a `--target`."""
    for file in metadata.files("noisyor") or []:
        if file.stem == "noisyor" and file.parent.name in ("bin", "Scripts"):
            return str(file.locate())
    sys.exit("this installation of the package has no program; `pip install` from the sources or a wheel has it")


if __name__ == "__main__":
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
