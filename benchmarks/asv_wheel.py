"""Builds the wheel of a commit for asv, which calls this file with the Python of one of its environments.

    python asv_wheel.py CHECKOUT FOLDER

pip's own isolation would install the requirements of the build in a new folder each time, whose path is in
what ccache compares: nothing would ever be found. They are installed beside the project instead, once for
all commits, and ccache compiles if it is installed and CC names no compiler. It needs only the standard
library.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping
from pathlib import Path


def build_environment(environment: Mapping[str, str], ccache: str | None) -> dict[str, str]:
    """The environment variables of the build.

    Args:
        environment: those of this process.
        ccache: the path of ccache; None if it is not installed.
    """
    compiler = sysconfig.get_config_var("CC")
    if ccache is None or not compiler or environment.get("CC"):
        return dict(environment)
    return {**environment, "CC": f"ccache {compiler}"}


def main() -> None:
    """Build the wheel that the command line asks for."""
    checkout, folder = sys.argv[1:]
    project = tomllib.loads(Path(checkout, "pyproject.toml").read_text(encoding="utf-8"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *project["build-system"]["requires"]], check=True)
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, checkout],
        check=True,
        env=build_environment(os.environ, shutil.which("ccache")),
    )


if __name__ == "__main__":
    main()
