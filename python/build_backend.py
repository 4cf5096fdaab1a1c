"""PEP 517: maturin, and the program `noisyor` as a script of the wheel, so that pip alone installs both.

NOISYOR_PROFILE=dev takes another cargo profile than `release`.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # noqa: F401
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

SCRIPTS = Path("noisyor._core.data/scripts")  # where maturin looks: the name of the extension module
PROGRAM = "noisyor.exe" if os.name == "nt" else "noisyor"
PROFILE = os.environ.get("NOISYOR_PROFILE", "release")


def build_wheel(folder: str, config: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    os.environ.setdefault("CARGO_PROFILE_RELEASE_STRIP", "symbols")  # of the module and the program
    os.environ["MATURIN_PEP517_ARGS"] = f"--profile={PROFILE} {os.environ.get('MATURIN_PEP517_ARGS', '')}"
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy(build_program(), SCRIPTS)
        return maturin.build_wheel(folder, config, metadata)
    finally:
        shutil.rmtree(SCRIPTS.parent)


def build_program() -> Path:
    """In a checkout and in an sdist cargo finds the workspace from the folder of pyproject.toml, which is the current one."""
    subprocess.run(["cargo", "build", "--profile", PROFILE, "--locked", "-p", "noisyor", "--bin", "noisyor"], check=True)
    locate = ["cargo", "locate-project", "--workspace", "--message-format", "plain"]
    workspace = Path(subprocess.check_output(locate, text=True).strip()).parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", workspace / "target"))
    return target / ("debug" if PROFILE == "dev" else PROFILE) / PROGRAM
