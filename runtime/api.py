"""The public functions `load`, `compile` and `execute`, and the Executable."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import thread_time
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .compiler.lru_cache import LRUCache
from .compiler.passes import Observe, require_pass
from .compiler.plan import MemoryEstimate
from .compiler.plan.fusion_passes import fuse_operations, with_all_loops
from .compiler.specialize import LAST_WITHOUT_REWRITES, entry_function, specialize
from .compiler.specialize.framework.constants import integers_by_reference
from .compiler.specialize.scatter_granularity import ScatterGranularity, scatter_granularity
from .errors import ExecutionError, UnsupportedError, counted
from .execution.boundary import DirectCall
from .execution.memory import RECYCLING, run_with
from .execution.program import Placement, Program
from .execution.stored_programs import ProgramFile, StoredProgram, file_of
from .kernels.launch.garbage import gc_paused
from .kernels.launch.processor import level as processor_level
from .options import Options
from .program.frontend.loader import is_exported
from .program.ir import Function, Module, Operation, argument_names
from .program.loading import GivenProgram, given_program, load
from .program.ops.framework.declaration import declaration_of
from .program.ops.framework.facts import OpenOrder
from .program.ops.framework.memory_limit import typed_shortage
from .types import FunctionType, TensorType, Type

if TYPE_CHECKING:
    from .execution.grid.host import HostQueues
    from .execution.torch_calls import ModelExecutable
    from .inspection.plan_page import PlanGraph
    from .inspection.profiling import Bound, Profile, Trace
    from .inspection.sanitizer import Finding, Sanitizer
    from .inspection.tables import Table
    from .program.frontend.torch.conversion import ExportedProgram
    from .program.ops.collectives.process_grid import Grid, ProcessId
    from .program.ops.custom_calls.user_functions import Registry


__all__ = ["Executable", "GridExecutable", "compile", "execute", "load"]

MAX_SPECIALIZATIONS = 64
"""Maximum number of argument-size combinations for which an Executable caches a program."""

MAX_CACHED_EXECUTABLES = 16
"""Maximum number of programs given as text that `execute` caches."""

MAX_CACHED_EXECUTABLE_BYTES = 16 << 20
"""Maximum bytes of a cached program: constants, results and temporaries."""


@gc_paused
@overload
def compile(  # type: ignore[overload-overlap]  # a model is an object too
    module: ExportedProgram,
    *,
    entry: str = ...,
    options: Options | None = ...,
    grid: None = ...,
    host: HostQueues | None = ...,
) -> ModelExecutable: ...
@gc_paused
@overload
def compile(
    module: object,
    *,
    entry: str = ...,
    options: Options | None = ...,
    grid: None = ...,
    host: HostQueues | None = ...,
) -> Executable: ...
@overload
def compile(
    module: object,
    *,
    entry: str = ...,
    options: Options | None = ...,
    grid: Grid,
    host: HostQueues | None = ...,
) -> GridExecutable: ...
@gc_paused
def compile(
    module: object,
    *,
    entry: str = "main",
    options: Options | None = None,
    grid: Grid | None = None,
    host: HostQueues | None = None,
) -> Executable | GridExecutable | ModelExecutable:
    """Compile a program that is run more than once.

    Args:
        module: see `load`.
        entry: the name of the function to run.
        options: all settings; None: ``Options()``.
        grid: the processes that run the program concurrently; None: one process.
        host: the queues at the host's end of infeed, outfeed and host transfers; None: the host transfers
            nothing.

    Returns:
        A function of the inputs; with a grid, of a sequence of inputs for each process. For a
        ``torch.export.ExportedProgram`` a `ModelExecutable`, which is called as the model is.

    Raises:
        NimbleError: as by `load`; or the module has no such function, or the program does not fit the grid.
    """
    if is_exported(module) and grid is None:
        from .execution.torch_calls import ModelExecutable

        return ModelExecutable(
            module, lambda loaded: Executable(load(loaded), entry, options or Options(), host=host)
        )
    if grid is None:
        return Executable(given_program(module), entry, options or Options(), host=host)
    return GridExecutable(load(module), entry, options or Options(), grid, host)


def execute(
    module: object,
    inputs: Sequence[object] = (),
    *,
    entry: str = "main",
    options: Options | None = None,
    grid: Grid | None = None,
    host: HostQueues | None = None,
) -> list[Any]:
    """Run a program once.

    The executable of a small program that is given as text is cached for the next call with the same text,
    entry and options.

    Args:
        module: see `load`.
        inputs: one for each argument of `entry`: NumPy or ml_dtypes arrays of the argument's type and shape,
            Python scalars, or anything with ``__dlpack__`` or ``__array__``. JAX's typed random keys are
            converted to their words (`jax.random.key_data`), and are returned as these words. Inputs are not
            written to, unless `Options.donate` names them.
            With a grid: such a sequence for each process, in row-major order of the grid.
        entry, options, grid, host: see `compile`.

    Returns:
        An array for each result, which belongs to the caller; a tuple of arrays for a result that is a tuple.
        With a grid: such a list for each process.

    Raises:
        NimbleError: as by `compile`.
        ExecutionError: an input does not have the type of its argument, or the run failed.
        UndefinedBehaviorError: the specification does not define what an operation does with its operands.
    """
    if grid is not None:
        return compile(module, entry=entry, options=options, grid=grid, host=host)(inputs)
    if host is not None:
        return compile(module, entry=entry, options=options, host=host)(*inputs)
    # Only texts are cached: the content of a file may change.
    if not isinstance(module, str) or "\n" not in module:
        return compile(module, entry=entry, options=options)(*inputs)
    key = (module, entry, options, _registry().changes)
    executable = _executed.get(key)
    if executable is not None:
        return executable(*inputs)
    executable = compile(module, entry=entry, options=options)
    results = executable(*inputs)
    needed = executable.memory_of_values()
    if needed.constants + needed.results + needed.temporaries <= MAX_CACHED_EXECUTABLE_BYTES:
        _executed.put(key, executable)
    return results


class Executable(DirectCall):
    """A program that is ready to run. Many threads may call it at the same time.

    A program with unknown argument sizes is specialized once for each combination of sizes that it meets; the
    MAX_SPECIALIZATIONS used last are kept.

    Attributes:
        input_types, output_types: types of the arguments and results.
        input_names: for each argument its name, ``jax.arg_info`` or that of its location, or None.
        options: the options with which the program was compiled.
    """

    _outlines_subgraphs = True

    def __init__(
        self,
        module: Module | GivenProgram,
        entry: str,
        options: Options,
        host: HostQueues | None = None,
        file: ProgramFile | None = None,
    ) -> None:
        if options.cache_bytes is not None:
            from .kernels.launch.cache_limit import set_limit

            set_limit(options.cache_bytes)
        self._given = module if isinstance(module, GivenProgram) else GivenProgram(lambda: module)
        self._file = file or self._file_of(entry, options)
        stored = self._file.stored if self._file else None
        function = entry_function(self._module, entry) if stored is None else stored.declared
        processor_level()
        inputs = len(function.type.inputs)
        if options.donate != "all" and max(options.donate, default=-1) >= inputs:
            raise ExecutionError(
                f"donate names input {max(options.donate)}, but @{entry} takes {counted(inputs, 'input')}"
            )
        require_pass(options.last_pass)
        self.options = options
        self._host = host
        self.input_types = function.type.inputs
        self.output_types = function.type.results
        self.input_names = argument_names(function)
        tensors = [type if isinstance(type, TensorType) else None for type in self.input_types]
        self._entry = entry
        self._declared = function.with_body(None)
        self._out_of_bounds = stored.granularity if stored else scatter_granularity(self._module, options)
        self._sanitizer = _sanitizer(options, self._out_of_bounds)
        self._programs: LRUCache[tuple[Type, ...], Program] = LRUCache(MAX_SPECIALIZATIONS)
        static = all(not isinstance(type, TensorType) or type.is_static for type in self.input_types)
        self._static_program = self._specialize(self.input_types) if static else None
        self.set_expected_inputs(
            tuple([type.dtype if type else None for type in tensors]),
            tuple([type.shape if type else None for type in tensors]),
            self._static_program.call if self._static_program else None,
        )

    def _file_of(self, entry: str, options: Options) -> ProgramFile | None:
        """The file of the program; None if it is not to be stored, such as one of a subclass."""
        return file_of(self._given, entry, options) if type(self) is Executable else None

    @property
    def _module(self) -> Module:
        """The module, which is parsed now if the program came from the disk."""
        return self._given.module

    def call_converted(self, *inputs: object) -> list[Any]:
        """Run the program after converting the inputs to its argument types.

        A call of the executable comes here if some input is not an array of its argument's type and shape.

        Args:
            inputs: see `execute`.

        Returns:
            An array for each result.

        Raises:
            ExecutionError: an input cannot be converted, or the run failed.
        """
        arguments = self._arguments(inputs)
        return self._program_for(arguments).run(arguments)

    def _arguments(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs as arrays that fit.

        Raises:
            ExecutionError: they do not fit.
        """
        types = self.input_types
        if len(inputs) != len(types):
            takes = counted(len(types), "input")
            raise ExecutionError(f"@{self._entry} takes {takes}, but got {len(inputs)}")
        if self.fits(inputs):
            return inputs
        from .execution.inputs import convert_input

        with typed_shortage("the inputs cannot be converted"):
            return tuple([convert_input(value, types[index], index) for index, value in enumerate(inputs)])

    def _program_for(self, arguments: tuple[Any, ...]) -> Program:
        """The program for arguments of these sizes."""
        if self._static_program is not None:
            return self._static_program
        key = self._types_of(arguments)
        return self._programs.get(key) or self._programs.computed(
            key, functools.partial(self._specialize, key)
        )

    def _types_of(self, arguments: tuple[Any, ...]) -> tuple[Type, ...]:
        """The types of the inputs with the sizes of these arguments."""
        return tuple(
            [
                type.with_shape(value.shape) if isinstance(type, TensorType) else type
                for value, type in zip(arguments, self.input_types, strict=True)
            ]
        )

    @gc_paused
    def _specialize(self, types: Sequence[Type]) -> Program:
        """The program for argument types, made while the handler of runs asks for what memory is left."""
        try:
            with typed_shortage(f"@{self._entry} cannot be compiled"):
                return run_with(RECYCLING, self._new_program, types)
        except RecursionError:
            reason = f"@{self._entry}: regions are nested too deeply for the depth of the calling code"
            raise UnsupportedError(reason) from None

    def _new_program(self, types: Sequence[Type]) -> Program:
        if self._sanitizer is not None:
            return self._sanitized(self._sanitizer, types)
        if self._file is not None and tuple(types) == tuple(self.input_types):
            return self._stored_program(self._file, types)
        return self._lowered(self._specialized_function(types))

    def _stored_program(self, file: ProgramFile, types: Sequence[Type]) -> Program:
        """The program of the declared types: what is on the disk, or it is written there if that pays."""
        stored = file.stored
        if stored is None:
            started = thread_time()
            function = self._specialized_function(types)
            native_loops = fuse_operations(function, self.options)
            native_loops = with_all_loops(function, native_loops, self.options)
            name, granularity = self._module.name, self._out_of_bounds
            stored = StoredProgram(function, native_loops, name, self._declared, granularity)
            if self._given.means_the_same:
                file.write(stored, self._given.seconds + thread_time() - started)
        placement = Placement(len(self.input_types), host=self._host)
        return Program(
            stored.function, self.options, placement=placement, native_loops=stored.native_loops
        )

    def _specialized_function(
        self, types: Sequence[Type], observe: Observe | None = None, *, outlines_subgraphs: bool = True
    ) -> Function:
        reference = self.options.reference
        return specialize(
            self._module,
            self._entry,
            types,
            evaluate=integers_by_reference if reference else None,
            rounds_correctly=self.options.functions == "correctly_rounded",
            drops_windows=self._out_of_bounds.granularity == "window",
            outlines_subgraphs=outlines_subgraphs and self._outlines_subgraphs,
            last_pass=LAST_WITHOUT_REWRITES if reference else self.options.last_pass,
            observe=observe,
        )

    def _lowered(self, function: Function) -> Program:
        return Program(function, self.options, placement=Placement(len(self.input_types), host=self._host))

    def _sanitized(self, sanitizer: Sanitizer, types: Sequence[Type]) -> Program:
        """A program whose regions run by references, so that the checks also apply in regions."""
        function = sanitizer.bind(self._module, self._entry, types)
        sanitized = sanitizer.instrument(function)
        options = replace(self.options, compile="never")
        return Program(function, options, sanitized.choose, sanitized.runner)

    @property
    def findings(self) -> Sequence[Finding]:
        """The sanitizer's findings in all calls, in order; a `nimblehlo.Findings` if the sanitizer is on.

        The first findings of each check and operation are kept.
        """
        return () if self._sanitizer is None else self._sanitizer.findings

    def memory(self) -> MemoryEstimate:
        """The bytes of a call's arguments, results, temporaries and constants.

        If the program has unknown sizes, each figure is the maximum over the sizes of the calls so far.
        """
        estimates = [program.memory for program in self._cached_programs()]
        return functools.reduce(MemoryEstimate.maximum, estimates, MemoryEstimate())

    def memory_of_values(self) -> MemoryEstimate:
        """Like `memory`, but without the workspaces of native code, whose sizes need code generation."""
        programs = self._cached_programs()
        estimates = [program.memory_of_values for program in programs]
        return functools.reduce(MemoryEstimate.maximum, estimates, MemoryEstimate())

    def profile(self, inputs: Sequence[object] = (), *, calls: int = 1, warm_up: int = 0) -> Profile:
        """Run the program, and measure the time of each step.

        Args:
            inputs: see `execute`.
            calls: how many calls are profiled, all with these inputs.
            warm_up: how many calls precede them; code that these compile is not profiled.

        Raises:
            ValueError: `calls` is less than 1, or `warm_up` less than 0.
            ExecutionError: inputs do not fit, or the run failed.
        """
        from .inspection.profiling import profile

        program, arguments = self._program_and_arguments(inputs)
        name = f"@{self._entry} : {program.type}"
        bound = self._bound(program)
        return profile(program, arguments, name, self.options, calls=calls, warm_up=warm_up, bound=bound)

    def bound(self, inputs: Sequence[object] = ()) -> Bound:
        """The least time of a call with inputs of these sizes on this machine, whatever the implementation.

        The module `nimblehlo.inspection.profiling.bound` says what it counts. The first use on a machine
        measures how fast that is, which takes a few seconds, and keeps the figures in the folder of compiled
        code.

        Args:
            inputs: see `execute`.

        Raises:
            ExecutionError: inputs do not fit.
            UnsupportedError: the executable is for a grid.
        """
        bound = self._bound(self._program_and_arguments(inputs)[0])
        if bound is None:
            raise UnsupportedError("the bound of a grid's call is not supported")
        return bound

    def _bound(self, program: Program) -> Bound | None:
        """The least time of a call of a program; None if there is none."""
        from .inspection.profiling import least_time

        types = program.type.inputs[: len(self.input_types)]
        return least_time(self._specialized_function(types, outlines_subgraphs=False), self.options)

    def trace(
        self,
        inputs: Sequence[object] = (),
        *,
        only: str | Callable[[Operation], bool] | None = None,
        max_elements: int = 64,
        max_records: int = 100_000,
    ) -> Trace:
        """Run the program as it is written, not optimized, and record the results of each operation.

        Args:
            inputs: see `execute`.
            only: which operations are recorded: a pattern of names such as ``"stablehlo.dot*"``, or a
                predicate.
            max_elements: elements up to which arrays are recorded; of larger ones, statistics are.
            max_records: maximum number of runs of operations that are recorded.

        Raises:
            ExecutionError: inputs do not fit, or the run failed.
        """
        from .inspection.profiling import trace

        arguments = self._arguments(tuple(inputs))
        return trace(
            self._module,
            self._entry,
            self._types_of(arguments),
            arguments,
            self.options,
            only=only,
            max_elements=max_elements,
            max_records=max_records,
            run=Program,
        )

    def _program_and_arguments(self, inputs: Sequence[object]) -> tuple[Program, tuple[Any, ...]]:
        """The program for some inputs, and these as its arguments."""
        arguments = self._arguments(tuple(inputs))
        return self._program_for(arguments), arguments

    def explain(
        self,
        what: Literal["all", "source", "passes", "program", "plan"] = "all",
        *,
        html: bool = False,
        runs: Mapping[str, Profile | Mapping[str, Any]] | None = None,
    ) -> str:
        """Describe the program's implementation as text.

        Args:
            what: ``"source"``: the module as it was given; ``"passes"``: each pass of the compiler up to
                `Options.last_pass`, and the function after it; ``"program"``: the function after
                specialization; ``"plan"``: the bytes that a call takes, and each step with its types, its
                implementation and the reason for it, and why it is no fusion with a step whose result it
                reads; the last three for each combination of sizes met.
                ``"all"``: each in turn, except for the passes.
            html: instead of text, a page of HTML, whatever `what` is: the plan as a graph and as a table, its
                memory over time, and the module, in which each step is linked to its operations.
            runs: for the page up to two profiles by their names, or what `Profile.as_dict` returned for this
                or another version of the program. Steps show their times, the second ones beside the first.

        Raises:
            ValueError: for another `what`, or more than two runs.
        """
        if html:
            return self._page(runs or {})
        sections = self.explain_sections(what)
        return "\n\n".join(f"{heading}\n{text}" if heading else text for heading, text in sections)

    def explain_sections(self, what: str = "all") -> list[tuple[str, str]]:
        """The headings and texts of what `explain` returns; the program after each pass has the heading "".

        Raises:
            ValueError: for another `what`.
        """
        if what == "passes" and self._sanitizer is not None:
            return [("", "The sanitizer runs the program as it was given, without optional passes.")]
        if what not in ("all", "source", "passes", "program", "plan"):
            raise ValueError(f"what is {what!r}, but must be 'all', 'source', 'passes', 'program' or 'plan'")
        from .compiler.explanation import function_text, module_text, passes_text, why_not_fused

        sections: list[tuple[str, str]] = []
        if what in ("all", "source"):
            sections.append(("Before specialization:", module_text(self._module)))
        for program in self._cached_programs():
            types = program.type.inputs[: len(self.input_types)]
            specialized = functools.partial(self._specialized_function, types)
            if what == "passes":
                sections.append(("", passes_text(specialized, self.options)))
            if what in ("all", "program"):
                sections.append(("After specialization:", function_text(program.function)))
            if what in ("all", "plan"):
                fused = self._sanitizer is None
                why = why_not_fused(program.function, specialized, self.options) if fused else {}
                plan = f"{self._semantics()}{program.explain(why)}"
                sections.append((f"Plan of @{self._entry} : {program.type}", plan))
        return sections

    def _page(self, runs: Mapping[str, Profile | Mapping[str, Any]]) -> str:
        """The page of its plans with the times of some runs."""
        from .inspection.plan_page import plan_page
        from .inspection.profiling import Profile

        if len(runs) > 2:
            raise ValueError(f"runs has {len(runs)} profiles, but a page shows at most 2")
        figures = [(name, run.as_dict() if isinstance(run, Profile) else run) for name, run in runs.items()]
        title = f"@{self._entry} : {FunctionType(self.input_types, self.output_types)}"
        plans = [(one.function, one.plan, one.memory) for one in self._cached_programs()]
        return plan_page(title, self._module, plans, donated=self._donated(), runs=figures)

    def _donated(self) -> Sequence[int]:
        """The numbers of the arguments that a call may consume."""
        return range(len(self.input_types)) if self.options.donate == "all" else tuple(self.options.donate)

    def plan_graphs(self) -> list[PlanGraph]:
        """For each combination of sizes met the plan as a graph: its steps, what they read and compute, and
        the live memory.
        """
        from .compiler.plan import memory_timeline
        from .inspection.plan_page import plan_graph
        from .inspection.plan_page.program_lines import ProgramLines

        lines, donated = ProgramLines(self._module), self._donated()
        return [
            plan_graph(one.function, one.plan, memory_timeline(one.plan, donated), lines)
            for one in self._cached_programs()
        ]

    def plan_tables(self) -> list[tuple[str, Table]]:
        """For each combination of sizes met a heading, with the bytes that a call takes, and a table of the
        steps.
        """
        from .inspection.plan_page import plan_table

        tables = []
        for program in self._cached_programs():
            figures = ", ".join(f"{name} {bytes:,}" for name, bytes in program.memory.figures().items())
            heading = f"Plan of @{self._entry} : {program.type}\n{self._semantics()}bytes: {figures}"
            tables.append((heading, plan_table(program.plan)))
        return tables

    def _repr_html_(self) -> str:
        """The plan and the memory of a call for a notebook."""
        from .inspection.tables import report_html

        shown = [report_html(*_heading(text), table) for text, table in self.plan_tables()]
        unknown = (
            "Sizes are unknown: there is a plan for each combination of sizes once it was called with them."
        )
        return "".join(shown) or report_html(repr(self), [unknown])

    def _semantics(self) -> str:
        """A line that states the semantics of scatters, if windows of a scatter may be partly out of bounds.
        """
        orders = {declaration_of(operation).open_order for operation in self._module.walk()}
        is_chosen = OpenOrder.SCATTER_SCHEDULE in orders
        return f"  {self._out_of_bounds}\n" if is_chosen else ""

    def _cached_programs(self) -> list[Program]:
        return [self._static_program] if self._static_program else self._programs.values()

    def __repr__(self) -> str:
        return f"Executable(@{self._entry} : {FunctionType(self.input_types, self.output_types)})"


def _heading(text: str) -> tuple[str, list[str]]:
    """The first line of a text, and the others."""
    title, *lines = text.splitlines()
    return title, lines


class GridExecutable(Executable):
    """A program that is ready to run as every process of a grid.

    All processes share its constants and its plan. They run in turn in the calling thread, in the same order
    whatever the machine; kernels use several threads as they do elsewhere.

    Attributes:
        grid: the grid.
    """

    def __init__(
        self, module: Module, entry: str, options: Options, grid: Grid, host: HostQueues | None = None
    ) -> None:
        self.grid = grid
        if options.sanitize:
            raise UnsupportedError("Options(sanitize=...) is not supported for programs on a grid")
        super().__init__(module, entry, options, host)

    def __call__(self, *inputs: Any) -> list[list[Any]]:
        """Run it.

        Args:
            inputs: one sequence that has a sequence of inputs for each process (see `execute`), in row-major
                order of the grid; nothing where the program takes no inputs.

        Returns:
            For each process a list of its results, which belong to the caller.

        Raises:
            ExecutionError: inputs do not fit, a process failed, or no process can go on.
        """
        program, arguments = self._program_and_arguments(*(inputs or ((),)))
        results = program.run(arguments)
        count = len(self.output_types)
        return [results[number * count : (number + 1) * count] for number in range(len(self.processes))]

    def _bound(self, program: Program) -> None:
        """There is none: processes wait for each other."""

    def trace(self, *inputs: object, **settings: object) -> Trace:
        """Not supported: the processes of a grid run in turn.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("Executable.trace is not supported for programs on a grid")

    def _program_and_arguments(self, inputs: Sequence[Any]) -> tuple[Program, tuple[Any, ...]]:
        processes = self.processes
        each = inputs or [()] * len(processes)
        if len(each) != len(processes):
            raise ExecutionError(
                f"there are inputs for {len(each)} processes, but {len(processes)} run here: "
                f"the grid is {self.grid}"
            )
        arguments = [self._arguments(tuple(own)) for own in each]
        if self._static_program is None:
            shapes = [list(map(np.shape, own)) for own in arguments]
            for id, own_shapes in zip(processes, shapes, strict=True):
                if own_shapes != shapes[0]:
                    raise ExecutionError(
                        f"the inputs of process {id} have other sizes than those of the first"
                    )
        return self._program_for(arguments[0]), tuple([value for own in arguments for value in own])

    @property
    def processes(self) -> Sequence[ProcessId]:
        """The processes that run here, in row-major order of the grid."""
        return tuple(self.grid.processes)

    def _lowered(self, function: Function) -> Program:
        placement = Placement(len(self.input_types), self.grid, self._host, runs_on_grid=True)
        return Program(function, self.options, placement=placement)


_executed: LRUCache[tuple[str, str, Options | None, int], Executable] = LRUCache(MAX_CACHED_EXECUTABLES)


@functools.cache
def _registry() -> type[Registry[Any]]:
    """The class of registries, which few programs need; an import statement takes a microsecond each time."""
    from .program.ops.custom_calls.user_functions import Registry

    return Registry


def _sanitizer(options: Options, scatters: ScatterGranularity) -> Sanitizer | None:
    """The sanitizer that `options` requests; None without one."""
    if not options.sanitize:
        return None
    from .inspection.sanitizer import Sanitizer

    return Sanitizer(replace(options, scatter_out_of_bounds=scatters.granularity))
