"""Run the tutorials of docs/tutorials, and store what their cells show.

    python tools/notebooks.py [NAME ...]

Each runs in a folder and a process of its own. `make test` runs them too, and compares what cells show with
what is stored, apart from times; of cells with the tag `figures-vary` it compares the kinds of outputs alone.
Needs the extra `test`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

TUTORIALS: Final = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
VARIES: Final = "figures-vary"
"""The tag of cells whose outputs are figures of the machine."""
CELL_SECONDS: Final = 300
"""The time that a cell may take."""
COLUMNS: Final = 70
"""Characters of the lines that commands print in cells, which pages of 800 pixels have space for."""

_REPORT: Final = re.compile(r"^-+ generated xml file: .* -+\n", re.MULTILINE)
"""What pytest before version 8 prints with ``-q`` too."""
_TIME: Final = re.compile(r"\d+(\.\d+)? ?(ns|us|ms|s)\b")


def tutorials() -> list[Path]:
    """The files of the tutorials."""
    return sorted(TUTORIALS.glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """A notebook whose cells have run in a new process.

    Args:
        path: of the notebook.
        folder: where it runs, and where it writes its files.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised an exception.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        # What a cell shows while it runs is no output of it.
        coalesce_streams=True,
    )
    client.execute(env={**os.environ, "COLUMNS": str(COLUMNS)})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell.outputs = [output for output in cell.outputs if not _is_erased(output)]
            for output in cell.outputs:
                if "text" in output:
                    output.text = output.text.replace(f"{folder}/", "")
                # What a page shows instead has no addresses of objects.
                if "text/html" in output.get("data", {}):
                    output.data.pop("text/plain", None)
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def _is_erased(output: Any) -> bool:
    """Whether an output is a bar of progress, which is empty at the end."""
    return output.output_type == "display_data" and not output.data.get("text/plain", "-")


def shown(notebook: Any) -> list[list[str]]:
    """What each cell of code shows, as texts without times."""
    return [list(_texts(cell)) for cell in notebook.cells if cell.cell_type == "code"]


def _texts(cell: Any) -> Iterator[str]:
    varies = VARIES in cell.metadata.get("tags", ())
    for output in cell.outputs:
        data = {output.name: output.text} if output.output_type == "stream" else output.get("data", {})
        for kind, text in sorted(data.items()):
            yield kind if varies else f"{kind}: {_TIME.sub('TIME', _REPORT.sub('', text))}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and store the notebooks that the command line names; 0 if all could be run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a tutorial, without .ipynb; all if none")
    names = parser.parse_args(arguments).names
    paths = [TUTORIALS / f"{name}.ipynb" for name in names] or tutorials()
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        nbformat.write(notebook, path)
        print(f"{path.name}: {len(shown(notebook))} cells of code")
    return 0


if __name__ == "__main__":
    sys.exit(main())
