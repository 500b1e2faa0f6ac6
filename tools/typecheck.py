"""Run mypy --strict over the package as it is imported: runtime/ as nimblehlo, kernels/ as nimblehlo.kernels.

    python tools/typecheck.py [MYPY OPTION ...]

mypy names modules after folders, whose names differ from those of the packages. It therefore reads a tree of
links in build/, and the paths in its output are replaced by those of the source files.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "typecheck"
PACKAGE = TREE / "nimblehlo"


def link_package() -> None:
    """Make the tree of links."""
    shutil.rmtree(TREE, ignore_errors=True)
    PACKAGE.mkdir(parents=True)
    for path in (ROOT / "runtime").iterdir():
        if path.name != "__pycache__":
            (PACKAGE / path.name).symlink_to(path)
    (PACKAGE / "kernels").symlink_to(ROOT / "kernels")


def source_names(text: str) -> str:
    """The text with the source files' names in place of the links'."""
    links = re.escape(os.path.relpath(PACKAGE, ROOT) + os.sep)
    text = re.sub(f"^{links}(kernels{re.escape(os.sep)})", r"\1", text, flags=re.MULTILINE)
    return re.sub(f"^{links}", f"runtime{os.sep}", text, flags=re.MULTILINE)


def main() -> int:
    """mypy's exit status."""
    link_package()
    command = [sys.executable, "-m", "mypy", "--strict", *sys.argv[1:]]
    command += ["--config-file", "pyproject.toml", str(PACKAGE.relative_to(ROOT))]
    environment = {**os.environ, "MYPYPATH": str(TREE)}
    finished = subprocess.run(
        [*command, "--explicit-package-bases"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    sys.stdout.write(source_names(finished.stdout))
    sys.stderr.write(finished.stderr)
    return finished.returncode


if __name__ == "__main__":
    sys.exit(main())
