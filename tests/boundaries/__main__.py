"""Commands: the list of decisions, and campaigns over what they decide.

``python -m tests.boundaries list`` prints every decision with its value and the test that crosses it;
``python -m tests.boundaries products`` multiplies matrices of all types, sizes, positions and layouts;
``python -m tests.boundaries sizes`` runs programs of sizes below, at and above the numbers of native loops;
``python -m tests.boundaries numbers FILE`` runs programs with the numbers of Python's decisions as they are,
smaller and larger, and writes which sides these took.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import subprocess
import sys
import time
from pathlib import Path

from . import products as grid_of_products
from . import sources, table
from .crossings import FAMILIES, differences


def main() -> int:
    """Exit status 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.boundaries", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="every decision")
    numbers = commands.add_parser("numbers", help="programs with other numbers")
    numbers.add_argument("output", type=Path)
    sizes = commands.add_parser("sizes", help="programs of sizes around the numbers")
    sizes.add_argument("--types", nargs="*", default=["f32", "f64", "i32"])
    sizes.add_argument("--layouts", nargs="*", default=grid_of_products.LAYOUTS)
    sizes.add_argument("--only", default="", help="decisions whose names have this in them")
    products = commands.add_parser("products", help="products of matrices")
    products.add_argument("--types", nargs="*", help="element types; all of them unless given")
    products.add_argument("--sizes", nargs="*", type=int, default=grid_of_products.SIZES)
    products.add_argument("--layouts", nargs="*", default=["plain"], choices=grid_of_products.LAYOUTS)
    products.add_argument("--modes", nargs="*", default=["never", "eager"], choices=["never", "eager"])
    products.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    return {"list": show, "products": multiply, "sizes": cross, "numbers": change}[options.command](options)


def show(options: argparse.Namespace) -> int:
    """Every decision: its number, how it is crossed, and what the source says of it."""
    how = table.crossings()
    for name, decision in sorted(sources.decisions().items()):
        print(f"{name} = {decision.value}\n    {how.get(name, 'MISSING')}  {decision.about}")
    counts = collections.Counter(word.split()[0] for word in how.values())
    print(", ".join(f"{count} {word}" for word, count in counts.most_common()))
    return 0


def change(options: argparse.Namespace) -> int:
    """Programs with other numbers, in a process whose modules take note from the first import on."""
    return subprocess.run([sys.executable, "-m", "tests.boundaries.workload", options.output]).returncode


def cross(options: argparse.Namespace) -> int:
    """Programs of sizes around the numbers."""
    start, count, failed = time.time(), 0, 0
    for family, names in FAMILIES.items():
        for name in filter(lambda name: options.only in name, names):
            for type, layout in itertools.product(options.types, options.layouts):
                for failure in differences(family, name, type, layout):
                    print(f"FAILED {type}: {failure}", flush=True)
                    failed += 1
                count += 1
    print(f"{count} settings, {failed} failed, {time.time() - start:.0f} s")
    return 1 if failed else 0


def multiply(options: argparse.Namespace) -> int:
    """Products over a grid."""
    sizes = grid_of_products.grid(options.sizes)
    both = list(itertools.product(options.layouts, options.layouts))
    start, count, failed = time.time(), 0, 0
    for setting in grid_of_products.settings(both, options.types):
        for failure in grid_of_products.failures(setting, sizes, options.seed, options.modes):
            print(f"FAILED {failure}", flush=True)
            failed += 1
        count += len(sizes)
        if sys.stderr.isatty():
            print(f"\r{count} products, {failed} failed", end="", file=sys.stderr)
    print(f"{count} products in {' and '.join(options.modes)}, {failed} failed, {time.time() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
