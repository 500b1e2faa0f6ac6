"""`nimblehlo run --grid`: a program on a grid, in this process or on all ranks of `mpiexec`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from .. import mpi as launch
from ..api import GridExecutable, load
from ..api import compile as compile_here
from ..errors import NimbleError
from ..execution.array_files import load_inputs, random_inputs, result_lines, save_results
from ..kernels.launch.mpi_launcher import launched_ranks
from ..options import Options
from ..program.ops.collectives.process_grid import Grid, ProcessId


def run_on_grid(arguments: argparse.Namespace, options: Options) -> int:
    """Run a program and print or store the results of each process that runs here.

    In names of inputs and of the output ``{replica}``, ``{partition}`` and ``{process}``, the number of the
    process in row-major order, stand for the ids of the process.

    Args:
        arguments: those of `nimblehlo run`.
        options: the options that they say.
    """
    module = load(Path(arguments.file))
    grid = parse_grid(arguments.grid)
    executable: GridExecutable
    if launched_ranks() > 1:
        executable = launch.compile(module, grid=grid, entry=arguments.entry, options=options)
    else:
        executable = compile_here(module, grid=grid or Grid(), entry=arguments.entry, options=options)
    names = {
        grid_file(arguments.output or "", executable.grid, process) for process in executable.grid.processes
    }
    if arguments.output and len(names) < executable.grid.size:
        raise NimbleError(f"the output {arguments.output} must have {{process}} in its name")
    types = executable.input_types

    def inputs_of(process: ProcessId) -> list[Any]:
        if arguments.random is not None and not arguments.input:
            number = executable.grid.flattened_id(process)
            return random_inputs(types, [arguments.random, number])
        files = [grid_file(file, executable.grid, process) for file in arguments.input]
        return load_inputs(files, types)

    results = executable([inputs_of(process) for process in executable.processes])
    for process, of_process in zip(executable.processes, results, strict=True):
        # In one piece, since ranks print at the same time.
        print(
            "\n".join([f"process {process}:", *result_lines(of_process, executable.output_types)]), flush=True
        )
        if arguments.output:
            save_results(grid_file(arguments.output, executable.grid, process), of_process)
    return 0


def parse_grid(text: str | None) -> Grid | None:
    """The grid from ``4x2`` or ``4``.

    Raises:
        NimbleError: the text is not a grid.
    """
    if text is None:
        return None
    match = re.fullmatch(r"([1-9]\d{0,8})(?:x([1-9]\d{0,8}))?", text, re.ASCII)
    if match is None:
        raise NimbleError(f"--grid is {text!r}, but must be replicas x partitions, such as 4x2")
    return Grid(int(match[1]), int(match[2] or 1))


def grid_file(name: str, grid: Grid, process: ProcessId) -> str:
    ids = {
        "{process}": grid.flattened_id(process),
        "{replica}": process.replica,
        "{partition}": process.partition,
    }
    for token, number in ids.items():
        name = name.replace(token, str(number))
    return name
