"""PEP 517: maturin, and the program `noisyor` as a script of the wheel, so that pip alone installs both."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import maturin
from maturin import build_sdist, get_requires_for_build_sdist, get_requires_for_build_wheel  # noqa: F401
from maturin import build_editable, get_requires_for_build_editable  # noqa: F401
from maturin import prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel  # noqa: F401

SCRIPTS = Path("noisyor.data/scripts")  # maturin packs what is there
PROGRAM = "noisyor.exe" if os.name == "nt" else "noisyor"


def build_wheel(folder: str, config: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    os.environ.setdefault("CARGO_PROFILE_RELEASE_STRIP", "symbols")  # the module's and the program's
    try:
        SCRIPTS.mkdir(parents=True, exist_ok=True)
        build_program(SCRIPTS / PROGRAM)
        return maturin.build_wheel(folder, config, metadata)
    finally:
        shutil.rmtree(SCRIPTS.parent)


def build_program(path: Path) -> None:
    """Here and in an sdist cargo finds the workspace from this folder."""
    command = ["cargo", "build", "--release", "--locked", "--package", "noisyor", "--bin", "noisyor"]
    target = Path(os.environ.get("CARGO_TARGET_DIR") or workspace() / "target")
    subprocess.run(command, check=True)
    shutil.copy(target / "release" / PROGRAM, path)


def workspace() -> Path:
    manifest = subprocess.check_output(["cargo", "locate-project", "--workspace", "--message-format", "plain"], text=True)
    return Path(manifest.strip()).parent
