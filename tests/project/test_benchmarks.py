"""The results of the benchmarks' programs, and the tools that measure and report."""

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

import jax

import nimblehlo
from benchmarks import (
    bounds,
    counted_calls,
    dashboard,
    early_calls,
    iree,
    layers,
    machine,
    measuring,
    plot,
    process_memory,
    scaling,
    short,
)
from benchmarks.ablation import generated_code as codegen_ablation
from benchmarks.ablation import kernels as ablation
from benchmarks.ablation.measuring import replaced
from benchmarks.jax_platform import disagreement
from benchmarks.measuring import fresh_process, memory_copy, side_by_side, warm_up
from benchmarks.models import Model
from benchmarks.peers import interpreter_call, ratios
from benchmarks.programs import FAMILIES, PROGRAMS, SIZES, Program, representatives
from nimblehlo.compiler.plan import fusion_passes
from nimblehlo.compiler.plan.tiering.background import Background, Job
from nimblehlo.options import Options
from tests.jax.children import run_on_platform
from tests.support.running import run_xla
from tools.comparison import Array, difference, weakness

pytestmark = pytest.mark.models

EAGER = Options(compile="eager")
SCALED_TRANSPOSE = """
func.func @main(%x: tensor<3x5xf32>) -> tensor<5x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %1 = stablehlo.add %0, %0 : tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
}
"""


@pytest.fixture(params=sorted(PROGRAMS))
def program(request: pytest.FixtureRequest) -> Program:
    """Each program in turn."""
    return PROGRAMS[request.param]


def disagreements(results: object, expected: object, bound: float) -> list[str]:
    """What tells two lists of results apart."""
    pairs = zip(jax.tree.leaves(results), jax.tree.leaves(expected), strict=True)
    reasons = (difference(np.asarray(one), np.asarray(other), bound) for one, other in pairs)
    return [reason for reason in reasons if reason is not None]


def test_programs_give_the_results_of_xla_and_of_numpy(program: Program) -> None:
    inputs = program.inputs(SIZES[0])
    lowered = program.lowered(inputs)
    with program.precision():
        expected = lowered.compile()(*inputs)
    results: list[Array] = nimblehlo.execute(lowered.as_text(), inputs)
    assert not disagreements(results, expected, program.bound)
    for result in results:
        assert weakness(result, program.bound) is None and np.isfinite(result).all()
        wrong = np.roll(result.reshape(-1), 1) if result.size > 1 else result.reshape(-1) * 2
        assert disagreements([wrong.reshape(result.shape)], [result], program.bound)
    if program.numpy is not None:
        assert not disagreements(program.numpy(*inputs), results[0], program.bound)


def test_sizes_grow(program: Program) -> None:
    assert list(program.sizes) == sorted(set(program.sizes)) and len(program.sizes) == len(SIZES)


def test_programs_at_their_bounds_are_won_and_below_them_listed(tmp_path: Path) -> None:
    def row(name: str, fastest: float, ratio: float | None) -> bounds.Row:
        least = bounds.Bound(1e-3, 1e-3, 0.0, 0.0, 1, False)
        return bounds.Row(name, fastest, 1e-3, ratio, fastest, least)

    rows = [
        row("close", 1.04e-3, 0.9),
        row("slow", 2e-3, 0.9),
        row("fast", 2e-3, 1.5),
        row("wrong", 8e-4, 1.5),
    ]
    assert [one.is_won for one in rows] == [True, False, True, True]
    assert "won: at its bound" in str(rows[0]) and "won" not in str(rows[1])
    assert bounds.summary(rows).splitlines()[1:] == [f"below its bound, by more than noise: {rows[3]}"]


def test_cases_of_other_files_have_bounds(tmp_path: Path) -> None:
    path = tmp_path / "cases.py"
    path.write_text(
        "import numpy\nCASES = {'one': ('sums', lambda x: x + x, lambda: (numpy.ones(5, numpy.float32),))}\n"
    )
    (case,) = bounds.cases_of(path, [])
    lowered, (x,) = case.make()
    assert case.name == "one" and nimblehlo.compile(lowered.as_text()).bound([x]).seconds > 0


def test_each_family_has_a_representative() -> None:
    chosen = [PROGRAMS[name].family for name in representatives()]
    assert len(chosen) == len(set(chosen)) == len({program.family for program in PROGRAMS.values()})
    assert {program.function.__module__ for program in PROGRAMS.values()} == {
        one.__name__ for one in FAMILIES
    }


def test_modules_are_imported_where_their_folder_lies_alone(tmp_path: Path) -> None:
    folder = Path(short.__file__).parent
    (tmp_path / folder.name).symlink_to(folder)
    names = sorted(f"{folder.name}.{path.stem}" for path in folder.glob("[a-z]*.py"))
    code = f"import importlib; [importlib.import_module(name) for name in {names}]"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert len(names) > 5 and run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", [*ablation.STRATEGIES, *codegen_ablation.STRATEGIES])
def test_programs_compile_without_a_strategy(name: str) -> None:
    """A strategy that the code no longer has is an error when the table is made."""
    without = ablation.STRATEGIES.get(name) or codegen_ablation.STRATEGIES[name][0]
    with without():
        nimblehlo.execute(SCALED_TRANSPOSE, [np.ones((3, 5), np.float32)], options=EAGER)
    assert set(codegen_ablation.STRATEGIES.get(name, (None, ()))[1]) <= set(codegen_ablation.PROGRAMS)


def test_a_strategy_is_switched_off_where_it_is_imported() -> None:
    original = fusion_passes.form_row_fusions
    without, _ = codegen_ablation.STRATEGIES["row fusions"]
    with without():
        assert fusion_passes.form_row_fusions is not original
    assert fusion_passes.form_row_fusions is original
    with pytest.raises(AttributeError, match="form_no_fusions"):
        replaced(fusion_passes, "form_no_fusions", None)


class Clock:
    """Time that passes where a test says so, whatever else the machine does."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def perf_counter(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def test_interleaved_timing_finds_the_faster_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(measuring, "time", clock)
    times = iter((0.02, 0.2, 0.8, 0.04, 0.02, 0.2))  # in the second pair the other one is called first

    def pass_time() -> None:
        clock.sleep(next(times))

    comparison = side_by_side(pass_time, pass_time, for_seconds=0, min_pairs=3, clock=clock.perf_counter)
    assert (comparison.ours, comparison.other, comparison.ratio) == pytest.approx((0.02, 0.2, 10.0))


@pytest.mark.parametrize(
    ("min_pairs", "max_pairs", "for_seconds", "calls"), [(3, 300, 0.0, 3), (2, 7, 60.0, 7)]
)
def test_interleaved_timing_calls_both_equally_often(
    min_pairs: int, max_pairs: int, for_seconds: float, calls: int
) -> None:
    called: list[str] = []
    limits = {"for_seconds": for_seconds, "min_pairs": min_pairs, "max_pairs": max_pairs}
    side_by_side(lambda: called.append("ours"), lambda: called.append("other"), **limits)  # type: ignore[arg-type]
    assert called[:4] == ["ours", "other", "other", "ours"]
    assert called.count("ours") == called.count("other") == calls


def test_warm_up_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    # The process's own queue may still hold what other tests compile.
    monkeypatch.setattr("benchmarks.measuring.BACKGROUND", Background())
    calls: list[None] = []
    warm_up(lambda: calls.append(None), for_seconds=60, max_calls=5)
    assert len(calls) == 5
    warm_up(lambda: calls.append(None), for_seconds=0, min_calls=3)
    assert len(calls) == 8


def test_warm_up_lasts_while_code_is_compiled() -> None:
    done: list[None] = []

    def compile() -> None:
        time.sleep(0.2)
        done.append(None)

    measuring.BACKGROUND.submit(Job(compile, has_priority=False))
    warm_up(lambda: time.sleep(1e-3), for_seconds=0, min_calls=1)
    assert done


def test_memory_copy_copies_all(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    monkeypatch.setattr("benchmarks.measuring.COPIED_BYTES", 1001)
    monkeypatch.setattr(np, "copyto", lambda target, source: copied.append(target.nbytes))
    with memory_copy() as copy:
        copy()
    assert sum(copied) == 1001


def test_a_fresh_process_measures_itself() -> None:
    text = "func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> { return %x : tensor<4xbf16> }"
    program = PROGRAMS["elementwise_bfloat16"]
    measured = fresh_process(text, [program.inputs(4)[0]], calls=3)
    assert 0 < measured.first_result < 60
    assert len(measured.later) == 2 and max(measured.later) < measured.first_result
    assert measured.peak_megabytes is None or 0 < measured.peak_megabytes < 1000


def test_a_fresh_process_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="status 1"):
        fresh_process("not a program", [])


def test_transformers_give_the_results_of_xla_and_are_measured() -> None:
    program = layers.transformer(3, 64, 16)
    (got,), (want,) = nimblehlo.execute(program.text, program.inputs), run_xla(program.text, *program.inputs)
    assert difference(got, want, 1e-5) is None
    assert min(layers.measured(3, 64, 16).values()) > 0


def test_peers_that_do_not_run_a_program_have_no_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.peers.warm_up", lambda action: action())
    found = ratios(["numpy", "memory", "interpreter"], PROGRAMS["solve_lower_triangle"], SIZES[0])
    assert found == {"numpy": None, "memory": None, "interpreter": None}


def test_the_interpreter_runs_what_it_is_timed_with() -> None:
    program = PROGRAMS["reduce_float64"]
    with interpreter_call(program, program.inputs(SIZES[0])) as call:
        assert call is not None
        assert "tensor<f64>" in str(call())


PAGE = """<script src="https://code.jquery.com/jquery-3.3.1.min.js" integrity="sha256-FgpC"></script>
<script src="https://cdn.test/ajax/libs/flot/0.8.3/jquery.flot.min.js" onerror="failed()"></script>
<script src="https://cdn.test/ajax/libs/stupidtable/1.0.1/stupidtable.min.js"></script>
<link rel="stylesheet" href="https://cdn.test/npm/bootstrap@3.1.1/dist/css/bootstrap.min.css">
<script src="asv.js"></script><script src="https://elsewhere.example/unknown.js"></script>
"""


def test_the_dashboard_brings_the_scripts_of_others(tmp_path: Path) -> None:
    urls = [match[2] for match in dashboard.REMOTE.finditer(PAGE)]
    packages = dashboard.packages(urls)
    assert list(packages.values()) == [
        "jquery@~3.3.1",
        "flot@^0.8.3",
        "stupid-table-plugin@^1.0.1",
        "bootstrap@^3.1.1",
    ]
    for name in ("jquery/dist/jquery.min.js", "flot/jquery.flot.js", "bootstrap/dist/css/bootstrap.min.css"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.touch()
    found = {url: dashboard.file_of(url, package, tmp_path) for url, package in packages.items()}
    own = {url: path.name for url, path in found.items() if path is not None}
    page = dashboard.with_local_scripts(PAGE, own)
    assert page.splitlines() == [
        '<script src="jquery.min.js"></script>',
        '<script src="jquery.flot.js"></script>',
        PAGE.splitlines()[2],
        '<link rel="stylesheet" href="bootstrap.min.css">',
        PAGE.splitlines()[4],
    ]


def test_asv_finds_the_modules(project_root: Path, tmp_path: Path) -> None:
    """asv imports all of the package by its path, in a process without the folder around it.

    The extra `bench` has none of the packages that only some comparisons need.
    """
    package = project_root / "benchmarks"
    absent = ("brax", "flax", "haiku", "iree", "onnx", "onnxruntime", "openvino", "optax", "torch", "keras")
    script = f"""
import importlib.util, pkgutil, sys
sys.modules.update(dict.fromkeys({absent}))
spec = importlib.util.spec_from_file_location(
    "benchmarks", {str(package / "__init__.py")!r}, submodule_search_locations=[{str(package)!r}]
)
sys.modules["benchmarks"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
def import_all(package):
    for _, name, is_package in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        imported = importlib.import_module(name)
        if is_package:
            import_all(imported)
import_all(module)
assert "benchmarks.libraries.measurement" in sys.modules
"""
    subprocess.run([sys.executable, "-P", "-c", script], cwd=tmp_path, check=True)


def test_the_short_set_is_some_of_each_kind() -> None:
    chosen = re.compile(short.expression())
    assert chosen.search("calls.WarmCalls.time_call('gather_rows', 'small')")
    assert chosen.search("calls.WarmCalls.time_call('gather_rows', 'large')")
    assert chosen.search("ratios.Memory.track_share('reduce_all')")
    assert not chosen.search("calls.WarmCalls.time_call('gather_rows', 'medium')")
    assert not chosen.search("calls.WarmCalls.time_call('gather_pairs', 'large')")
    assert short.left_out("   gather_rows    n/a    n/a   n/a \n")
    assert not short.left_out("   gather_rows    n/a    1.2ms   n/a \n")
    assert not short.left_out("   gather_rows    n/a    failed   n/a \n")


def test_the_table_shows_programs_and_the_picture_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{plot.BEGIN}old\n{plot.END}after\n")
    monkeypatch.setattr(plot, "TABLE", document)
    rows = {
        "gather_rows": {"xla large": 2.0, "xla small": 0.5},
        "top_k_rows": {"xla large": 8.0, "xla small": None},
    }
    found = {"date": "2026-11-22", "machine": "a machine", "programs": rows}
    plot.write_table(found)
    text = document.read_text()
    assert text.startswith(f"before\n{plot.BEGIN}Measured on 2026-11-22: a machine.") and text.endswith(
        f"{plot.END}after\n"
    )
    assert "| `gather_rows` | 2.0 | 0.50 | - |" in text and "| **4.0** | **0.50** |" in text
    assert "2 of 2 programs when large, 0 when small" in text
    assert "bounds" not in text
    rows["gather_rows"]["bound large"] = 0.96
    assert "won: 1 of 1 when large" in plot.table(found)

    monkeypatch.setattr(plot, "PLOT", tmp_path / "images" / "performance.svg")
    plot.draw(found)
    drawn = plot.PLOT.read_text()
    assert ">gather<" in drawn and ">top_k<" in drawn and ">sort<" not in drawn


def test_means_leave_out_what_is_not_there() -> None:
    assert plot.mean([2.0, None, 8.0]) == pytest.approx(4.0)
    assert math.isnan(plot.mean([None]))
    assert [plot.formatted(value) for value in (None, 0.0034, 1.0, 12.4, 8880.0)] == [
        "-",
        "0.0034",
        "1.0",
        "12",
        "8,880",
    ]


CASES = """
import jax.numpy as jnp
CASES = {
    "double": ("arithmetic", lambda x: x + x, lambda: (jnp.arange(4.0),)),
    "other": ("arithmetic", lambda x: x, lambda: ()),
}
"""


def test_devices_of_both_platforms() -> None:
    done = run_on_platform("-m", "benchmarks.devices", "psum 4 KB")
    assert done.returncode == 0 and "1 programs: geometric mean" in done.stdout, done.stderr


def test_calls_through_jax_on_both_platforms(tmp_path: Path) -> None:
    """A right case has a ratio; one that fails is told."""
    (tmp_path / "cases.py").write_text(CASES)
    done = run_on_platform(
        "-m", "benchmarks.jax_platform", "--cases", tmp_path / "cases.py", platforms="nimblehlo,cpu"
    )
    assert done.returncode == 1 and "1 programs: geometric mean" in done.stdout, done.stderr
    assert f"{'other':40} FAILED TypeError" in done.stdout
    assert disagreement([np.float32(1)], [np.float32(2)]) == "1 of 1 elements differ"
    assert disagreement([np.float32(1)], [np.float32(1.0001)]) is None


def test_calls_are_counted_from_the_text_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(counted_calls, "time", clock)

    def compile() -> Callable[[], object]:
        clock.sleep(0.2)
        return lambda: clock.sleep(0.0625)

    assert counted_calls.completed(compile, [0.1, 0.46, 0.74]) == [0, 4, 8]


def test_systems_are_counted_in_new_processes_with_an_empty_and_a_warm_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, file = "examples/elementwise", tmp_path / "counts.json"
    text = "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {\n return %a : tensor<3xf32>\n}"
    monkeypatch.setattr(early_calls, "examples", lambda: [Model(name, text, [np.ones(3, np.float32)])])
    arguments = ["early_calls", "--models", "--only", name, "--seconds", "1e-9", "2", "--json", str(file)]
    monkeypatch.setattr("sys.argv", arguments)
    assert early_calls.main() == 0
    counts = json.loads(file.read_text())["programs"][name]
    for cache in ("empty", "warm"):
        for system in ("nimblehlo", "xla"):
            assert counts[cache][system][0] == 0 < counts[cache][system][1]
    printed = capsys.readouterr().out.splitlines()
    assert name in printed[1] and "1 programs: at least XLA:CPU's calls in" in printed[2]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process takes")
def test_memory_that_programs_add_is_measured_in_new_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, count = tmp_path / "memory.json", 4_000_000
    text = f"""func.func @main(%a: tensor<{count}xf32>) -> tensor<{count}xf32> {{
      %0 = stablehlo.add %a, %a : tensor<{count}xf32>
      return %0 : tensor<{count}xf32>
    }}"""
    program = Model("sum", text, [np.ones(count, np.float32)])
    monkeypatch.setattr(process_memory, "programs", lambda names, is_of_models: [program])
    monkeypatch.setattr("sys.argv", ["process_memory", "--seconds", "0.1", "--json", str(file)])
    assert process_memory.main() == 0
    figures = json.loads(file.read_text())["programs"]["sum"]
    for system in process_memory.SYSTEMS:
        first, peak, steady = (figures[system][name] for name in process_memory.FIGURES)
        assert 4 * count <= first <= peak < 4 * count + 200_000_000 and steady <= peak
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].startswith("sum ") and printed[2].startswith("1 programs: geometric mean")


def test_peaks_above_those_of_xla_are_named() -> None:
    one, two = {"peak": 3}, {"peak": 4}
    outcomes = {"a": {"nimblehlo": one, "xla": two}, "b": {"nimblehlo": two, "xla": one}}
    line = "2 programs: geometric mean 1.00, at most XLA:CPU's peak in 50%, 1 above XLA:CPU: b"
    assert process_memory.summary(outcomes) == line


def test_memory_that_is_stored_is_not_measured_again_on_the_same_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table names the machine; a file of another machine is written anew."""
    file, document, measured = tmp_path / "memory.json", tmp_path / "performance.md", []
    document.write_text(f"before\n{process_memory.BEGIN}old\n{process_memory.END}after\n")
    models = [Model(name, "", []) for name in ("less", "more")]

    def added(program: Model, seconds: float) -> process_memory.Added:
        if len(measured) == 2:
            raise RuntimeError("a process failed")
        measured.append(program.name)
        ours, other = (3_000_000, 4_000_000) if program.name == "less" else (6_000_000, 4_000_000)
        return {
            system: dict.fromkeys(process_memory.FIGURES, bytes)
            for system, bytes in (("nimblehlo", ours), ("xla", other))
        }

    monkeypatch.setattr(process_memory, "DOCUMENT", document)
    monkeypatch.setattr(process_memory, "programs", lambda names, is_of_models: models)
    monkeypatch.setattr(process_memory, "added", added)
    monkeypatch.setattr("sys.argv", ["process_memory", "--write", "--json", str(file)])
    assert process_memory.main() == process_memory.main() == 0
    assert measured == ["less", "more"]
    text = document.read_text()
    assert text.startswith(f"before\n{process_memory.BEGIN}Measured on 20") and machine.machine() in text
    assert text.endswith(f"1 above XLA:CPU: more.\n{process_memory.END}after\n")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == ["| `more` | 6 | 4 | 6 | 4 | 1.50 | 6 | 4 |", "| `less` | 3 | 4 | 3 | 4 | 0.75 | 3 | 4 |"]
    monkeypatch.setattr(process_memory, "machine", lambda: "another machine")
    monkeypatch.setattr("sys.argv", ["process_memory", "--stored", "--write", "--json", str(file)])
    assert process_memory.main() == 0 and document.read_text() == text
    monkeypatch.setattr("sys.argv", ["process_memory", "--json", str(file)])
    measured.clear()
    assert process_memory.main() == 0 and measured == ["less", "more"]
    assert json.loads(file.read_text())["machine"] == "another machine"


def test_pairs_without_a_call_do_not_count() -> None:
    pair = {"nimblehlo": [0, 1, 4, 9], "xla": [0, 0, 10, 6]}
    line = early_calls.summary({"a": {"empty": pair, "warm": pair}})
    assert "4 of 6 pairs (67%), below half in 2, lowest ratio 0.40" in line


def test_distinct_values_are_in_the_order_of_the_given_ones() -> None:
    values = np.array([[0.5, 0.25], [0.5, -1.0]], np.float32)
    assert (iree.distinct(values) * 2**23).tolist() == [[2.0, 1.0], [3.0, 0.0]]
    indices = np.array([3, 3], np.int32)
    assert iree.distinct(indices) is indices
    with pytest.raises(ValueError, match="float16 has less than 2000 numbers"):
        iree.distinct(np.zeros(2000, np.float16))


class HostArray:
    """A result of IREE's runtime."""

    def __init__(self, values: Array) -> None:
        self.to_host = lambda: values


@pytest.mark.parametrize("is_wrong", [False, True])
def test_a_case_that_differs_where_elements_are_equal_is_timed(
    monkeypatch: pytest.MonkeyPatch, is_wrong: bool
) -> None:
    values = np.array([1.0, 3.0, 2.0, 3.0], np.float32)

    def last_maximum(inputs: list[Array]) -> Callable[[], HostArray]:
        index = len(values) - 1 - np.argmax(inputs[0][::-1]) - is_wrong
        return lambda: HostArray(np.array(index, np.int32))

    monkeypatch.setattr(iree, "iree_program", lambda text, device: last_maximum)
    case = bounds.Case("argmax", lambda: (jax.jit(jax.numpy.argmax).lower(values), [values]))
    if is_wrong:
        with pytest.raises(ValueError, match="IREE's result 1 of 1 values are not equal"):
            iree.measured(case, one_thread=False)
    else:
        comparison = iree.measured(case, one_thread=True)
        assert comparison.ratio > 0
        assert "agrees where no elements are equal" in comparison.line("argmax")


def test_a_process_that_takes_too_long_fails() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(RuntimeError, match=r"took more than 0\.1 s"):
        measuring.figures(command, {}, 0.1)


def test_what_one_thread_runs_bounds_large_programs(capsys: pytest.CaptureFixture[str]) -> None:
    predicted = [2e-2 / threads for threads in scaling.THREADS]
    predicted[scaling.THREADS.index(16)] = 5e-3
    large = scaling.Prediction(2e-2, 2e-3, predicted, [("dot_general (12 tasks)", 0.25)])
    scaling.print_held(0.7, {"large": large, "small": large._replace(seconds=1e-3)})
    assert capsys.readouterr().out.splitlines() == [
        "large: 25 % at 16 threads; at most 40 %, as 10.0 % of the call runs on one thread",
        "     25.0 %  dot_general (12 tasks)",
    ]
