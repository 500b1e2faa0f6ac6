"""The figures of the machine: how they are stored, and what follows from them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from nimblehlo.inspection.profiling import machine, measuring, stored_machine
from nimblehlo.inspection.profiling.machine import LEVELS, TRAFFIC, Machine
from nimblehlo.inspection.profiling.measuring import thread_counts
from nimblehlo.inspection.profiling.stored_machine import better
from nimblehlo.inspection.profiling.work import ProgramWork
from nimblehlo.kernels.matmul import low_precision_matmul
from nimblehlo.program.ops.framework.costs import FunctionClass


def made_up(threads: int = 2) -> Machine:
    """A machine of round figures: 100, 50, 20, 10 GB/s on one thread, twice that on two; writes take twice as
    long."""
    figures: dict[str, float] = {}
    for count in range(1, threads + 1):
        for level, rate in zip(LEVELS, (100e9, 50e9, 20e9, 10e9), strict=True):
            for kind, share in TRAFFIC.items():
                figures[f"{kind} {level} {count}"] = count * rate / (1 + share)
        for element, rate in (("f32", 8e9), ("f64", 4e9), ("bf16", 16e9), ("i8", 32e9)):
            figures[f"multiply-adds {element} {count}"] = count * rate
        for function in FunctionClass:
            for width in machine.WIDTHS:
                figures[f"functions {function.label} {width} {count}"] = count * 1e9
        figures[f"instructions {count}"] = count * 64e9
        figures[f"seconds launch {count}"] = 2e-6
    figures["seconds call 1"] = 1e-6
    return Machine(threads, tuple(range(1, threads + 1)), (1000, 10_000, 100_000), figures)


def test_bytes_that_fit_a_cache_come_from_it() -> None:
    one = made_up()
    assert one.moving_seconds(800, 0, 1) == pytest.approx(800 / 100e9)
    assert one.moving_seconds(11_000, 0, 1) == pytest.approx(1000 / 100e9 + 10_000 / 50e9)
    beyond = 1000 / 100e9 + 10_000 / 50e9 + 100_000 / 20e9
    assert one.moving_seconds(211_000, 0, 1) == pytest.approx(beyond + 100_000 / 10e9)


def test_threads_have_l1_and_l2_caches_of_their_own() -> None:
    assert made_up().moving_seconds(22_000, 0, 2) == pytest.approx(2000 / 200e9 + 20_000 / 100e9)


@pytest.mark.parametrize(("read", "written", "factor"), [(0, 800, 2.0), (400, 400, 1.5), (600, 200, 1.25)])
def test_mixes_of_reads_and_writes_are_interpolated(read: int, written: int, factor: float) -> None:
    assert made_up().moving_seconds(read, written, 1) == pytest.approx(factor * 800 / 100e9)


def test_nothing_takes_no_time() -> None:
    assert made_up().moving_seconds(0, 0, 1) == 0.0


def test_products_and_functions_share_instructions() -> None:
    work = ProgramWork(0, 0, 0, {"f32": 8000}, {(FunctionClass.LONG, "f32"): 1000}, 0, False)
    assert made_up().computing_seconds(work, 1) == pytest.approx(1e-6 + 1e-6)
    assert made_up().computing_seconds(work._replace(instruction_bytes=640_000), 1) == pytest.approx(1e-5)


def test_the_better_figure_of_two_measurements() -> None:
    first, second = (
        {"copy L1 1": 3.0, "seconds wake 2": 5.0},
        {"copy L1 1": 4.0, "seconds wake 2": 6.0, "new 1": 1.0},
    )
    assert better(first, second) == {"copy L1 1": 4.0, "seconds wake 2": 5.0, "new 1": 1.0}


def test_figures_are_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(stored_machine, "_measure", made_up)
    # However many processors there are.
    monkeypatch.setattr(stored_machine, "chosen_threads", lambda threads: threads or 2)
    stored_machine._machine.cache_clear()
    try:
        assert stored_machine.measured() == made_up()
        stored_machine._machine.cache_clear()
        monkeypatch.setattr(stored_machine, "_measure", lambda: pytest.fail("measured again"))
        assert stored_machine.measured() == made_up()
        faster = made_up()
        faster.figures["copy L1 1"] *= 2  # type: ignore[index]
        monkeypatch.setattr(stored_machine, "_measure", lambda: faster)
        assert stored_machine.measured(again=True).rate("copy L1", 1) == faster.rate("copy L1", 1)
        stored_machine._machine.cache_clear()
        assert stored_machine.measured().rate("copy L1", 1) == faster.rate("copy L1", 1)
    finally:
        stored_machine._machine.cache_clear()


def test_fewer_threads_have_their_own_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_machine, "_machine", made_up)
    assert stored_machine.measured(1).measured_threads == (1,)
    assert stored_machine.measured(1).bytes_per_second == pytest.approx(10e9 / 1.5)


def test_threads_that_were_not_measured_have_the_better_figures_of_their_neighbours() -> None:
    eight = made_up(8)
    figures = {**eight.figures, "seconds launch 4": 1e-6}
    some = Machine(8, (1, 2, 4, 8), eight.cache_bytes, figures)
    seven = stored_machine._limited(some, 7)
    assert seven.measured_threads == (1, 2, 4, 7)
    assert seven.bytes_per_second == eight.rate("copy memory", 8)
    assert seven.rate("seconds launch", 7) == 1e-6
    assert stored_machine._limited(some, 4).measured_threads == (1, 2, 4)


def test_stored_figures_depend_on_the_loops_and_the_costs() -> None:
    names = {path.name for path in stored_machine._sources()}
    assert {"machine.py", "measuring.py", "costs.py", "rates.h", "rate_loops.h", "rates.pyx"} <= names


def test_the_measured_memory_suffices_for_the_private_caches_of_all_threads() -> None:
    caches = (1 << 15, 1 << 22, 1 << 24)
    assert measuring._memory_bytes((1, 2, 4, 8, 16, 32), caches) == 32 << 22
    assert measuring._memory_bytes((1, 2), caches) == 3 << 24


def test_caches_that_the_system_does_not_describe_have_default_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = [
        {"level": "1", "type": "Data", "size": "64K"},
        {"level": "1", "type": "Instruction", "size": "128K"},
        {"level": "2", "type": "Unified"},
        {"level": "3", "type": "Unified", "size": "0K"},
        {"level": "3", "size": "1M"},
        {"level": "3", "type": "Unified", "size": "unknown"},
    ]
    for number, files in enumerate(described):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text + "\n")
    monkeypatch.setattr(machine, "_SYSTEM_CACHES", str(tmp_path))
    assert machine.cache_sizes.__wrapped__() == (1 << 16, *machine._DEFAULT_CACHE_BYTES[1:])


@pytest.mark.parametrize(
    ("threads", "counts"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8))]
)
def test_the_measured_numbers_of_threads(threads: int, counts: tuple[int, ...]) -> None:
    assert thread_counts(threads) == counts


def test_every_row_of_the_table_has_been_measured() -> None:
    """On this machine, in a process that has not measured anything."""
    found = stored_machine.measured()
    names = {name.rpartition(" ")[0] for name in found.figures}
    allowed = {
        f"multiply-adds {element} {bits} bits" for element in ("f32", "f64") for bits in (128, 256, 512)
    }
    assert {name for name, _, _ in machine.rows()} - names <= allowed | {
        "seconds launch", "seconds wake", "seconds steal"
    }  # fmt: skip
    assert all(math.isfinite(value) and value > 0 for value in found.figures.values())
    assert len(machine.table(found).splitlines()) > 30


def test_nothing_is_measured_by_a_call(tmp_path: Path) -> None:
    code = """
import sys, numpy, nimblehlo
text = '''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}'''
nimblehlo.compile(text)(numpy.ones(4, numpy.float32))
print([name for name in sys.modules if "profiling" in name or "rates" in name])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_machine_is_read_back_from_json() -> None:
    one = made_up()
    assert Machine.from_dict(json.loads(json.dumps(one.as_dict()))) == one


NARROW_PRODUCTS = {"bf16": ("bfloat16", "bfloat16", "float32"), "i8": ("int8", "int8", "int32")}


@pytest.mark.parametrize("element", NARROW_PRODUCTS)
def test_products_of_narrow_elements_are_measured_where_instructions_multiply_them(element: str) -> None:
    is_multiplied = bool(low_precision_matmul.implementations(*NARROW_PRODUCTS[element]))
    assert (measuring.product_rate(element, 1) > 0) == is_multiplied


@pytest.mark.parametrize("element", NARROW_PRODUCTS)
def test_a_processor_without_instructions_for_a_product_has_no_rate(
    element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = SimpleNamespace(implementations=lambda *names: ())
    monkeypatch.setattr(measuring, "low_precision_matmul", without)
    assert measuring.product_rate(element, 1) == 0
