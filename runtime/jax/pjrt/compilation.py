"""Compiles the programs that PJRT passes."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...api import Executable
from ...compiler.specialize.gspmd.annotations import GSPMD_SHARDING
from ...compiler.specialize.gspmd.conversion import to_shardy
from ...compiler.specialize.inline import with_inlined_calls
from ...compiler.specialize.sharding import attributes_with_known_groups
from ...errors import ParseError, UnsupportedError
from ...execution.stored_programs import ProgramFile, file_of
from ...kernels.launch.garbage import gc_paused
from ...program.frontend.jaxlib_modules import read_module
from ...program.frontend.loader import MAGIC, ProgramText, load_ir
from ...program.ir import Attribute, BoolAttribute, Function, Module, Operation, StringAttribute
from ...program.loading import GivenProgram
from ...program.ops.collectives.process_grid import Grid
from ...program.ops.custom_calls.targets import HANDLER
from ...program.ops.custom_calls.view import frontend_attribute
from ...types import ElementType, TensorType, TokenType, Type
from ..running import JaxProgram, load_program
from .client import MEMORY_KINDS, platform_version
from .compile_options import CompileOptions, device_assignment, parse_compile_options
from .cost import cost_of
from .element_types import NUMBERS, PRED
from .inspection import report_shardings
from .layouts import layout_texts, layouts_of, with_layouts
from .partitioned import PartitionedProgram, divide_callbacks, propagated, restore_reductions

MAX_QUICK_BYTES: Final = 1 << 20
"""Bytes of arguments, results and temporaries up to which a first run takes less than a millisecond or so."""

_PROGRAMS: weakref.WeakValueDictionary[bytes, LoadedProgram] = weakref.WeakValueDictionary()
"""Programs by their fingerprint."""

_INLINED_EARLY: Final = "xla_early"
"""The frontend attribute `inlineable` of calls that XLA inlines before anything else."""

_SERIALIZED: Final = b"NimbleHLO program 1\n"
"""The first bytes of a serialized program."""


_WITHOUT_LITERALS: Final = ("f6E2M3FN", "f6E3M2FN")
"""Element types that XLA has, but no literals of them."""


class LoadedProgram:
    """A compiled program, and the properties that callers query.

    Attributes:
        run: runs it on arrays, and returns a list of arrays in C order, and of tokens.
        calls_python: whether it calls Python functions of this process.
        is_synchronous: whether it must run on the thread that calls it.
        is_slow_at_first: whether its first run must not block the calling thread.
        argument_count: the number of arguments.
        result_element_types: PJRT's number of the element type of each result.
        run_partitioned: runs it on the arrays of several devices; only there if it is for several.
        result_shapes: the sizes of each result on a device.
        argument_layouts, result_layouts: their dimensions from the minor to the major one; None: in C order.
        argument_layout_texts, result_layout_texts: the same as XLA writes them.
        argument_memories, result_memories: numbers of the kinds of memory that arguments and results are in.
        argument_shardings, result_shardings: the OpSharding of each argument and result; none for one device.
        donated: numbers of the arguments whose memory a call may use, and which it deletes.
        donated_bytes: the bytes of these arguments on a device.
        replicas, partitions, device_ids: see `CompileOptions`.
        name: the module's name.
        fingerprint: equal for equal programs, options and versions.
    """

    def __init__(
        self, given: GivenProgram, code: bytes, options: CompileOptions, file: ProgramFile | None = None
    ) -> None:
        stored = file.stored if file else None
        function = stored.declared if stored else given.module.functions["main"]
        calls_python = not given.means_the_same
        has_one_device = len(options.device_ids) == 1
        types, result_types = function.type.inputs, function.type.results
        donated_arguments = _donated_arguments(function)
        sizes = list(map(_bytes, types))
        self.donated = _donations_with_results(donated_arguments, sizes, list(map(_bytes, result_types)))
        self.calls_python = calls_python
        self.is_synchronous = options.settings.synchronous
        if options.partitions > 1:
            divide_callbacks(given.module, options.partitions)
        # Each call that is not partitioned assembles new arrays from the shards.
        local = None if has_one_device else _device_program(given.module, options, calls_python)
        self._program = JaxProgram(
            given if local is None else GivenProgram(functools.partial(_same, local)),
            options.settings,
            self.donated if has_one_device else (),
            None if local is None else Grid(options.replicas, options.partitions),
            file,
        )
        self.is_slow_at_first = _is_slow(self._program.executable)
        self._given = given
        self._local = local
        self._code = code
        self._options = options
        self._text: bytes | None = None
        self.run = self._program if options.settings.explore else self._program.executable
        self._describe_values(function)
        self._device_bytes: tuple[int, int] | None = None
        self.argument_shardings: list[bytes] = []
        self.result_shardings: list[bytes] = []
        if options.replicas > 1:
            self.run_partitioned: Callable[[Sequence[tuple[Any, ...]]], list[list[Any]]] = self.run
        elif not has_one_device:
            partitioned = PartitionedProgram(given.module, options.partitions, self.run, local is not None)
            self.run_partitioned = partitioned
            self.result_shapes = [shards.shard_shape for shards in partitioned.results]
            sizes = list(map(_bytes, types, [shards.shard_shape for shards in partitioned.arguments]))
            result_sizes = list(map(_bytes, result_types, self.result_shapes))
            self.donated = _donations_with_results(donated_arguments, sizes, result_sizes)
            self._device_bytes = sum(sizes), sum(result_sizes)
            self.argument_shardings = [shards.op_sharding for shards in partitioned.arguments]
            self.result_shardings = [shards.op_sharding for shards in partitioned.results]
        self.donated_bytes = sum(sizes[index] for index in self.donated)
        self.replicas = options.replicas
        self.partitions = options.partitions
        self.device_ids = options.device_ids
        self.name = self._program.name.encode()
        hashed_texts = (code, options.serialized, platform_version().encode())
        self.fingerprint = hashlib.sha256(
            b"".join([hashlib.sha256(text).digest() for text in hashed_texts])
        ).digest()
        _PROGRAMS[self.fingerprint] = self

    @property
    def _module(self) -> Module:
        """The module, which is parsed now if the program came from the disk."""
        return self._given.module

    def _describe_values(self, function: Function) -> None:
        """Set what PJRT asks about the arguments and results of a function."""
        types, result_types = function.type.inputs, function.type.results
        self.argument_count = len(types)
        described = [_describe(type) for type in result_types]
        self.result_element_types = [number for number, _ in described]
        self.result_shapes = [shape for _, shape in described]
        self.argument_layouts = layouts_of(types, function.argument_attributes)
        self.result_layouts = layouts_of(result_types, function.result_attributes)
        self.argument_layout_texts = layout_texts(types, self.argument_layouts)
        self.result_layout_texts = layout_texts(result_types, self.result_layouts)
        self.result_memories = _memories(function.result_attributes)
        self.argument_memories = _memories(function.argument_attributes)

    def text(self) -> bytes:
        """The program in MLIR's text; if it is partitioned, the program of one device.

        Raises:
            UnsupportedError: the program is for several devices, and is not partitioned; or it has constants
                for which XLA, which makes its own text of this one, ends the process.
        """
        if self._text is None:
            _require_literals(self._module)
            text = _local_text(self._local) if self.partitions > 1 else _inlined_text(self._code)
            self._text = with_layouts(text, self._module, self.argument_layouts, self.result_layouts)
        return self._text

    def serialize(self) -> bytes:
        """Serialize the program for `deserialize_program`.

        Raises:
            UnsupportedError: the program calls Python functions of this process.
        """
        if self.calls_python:
            raise UnsupportedError("a program that calls Python functions means nothing to another process")
        header = json.dumps({"version": platform_version(), "options": len(self._options.serialized)})
        return _SERIALIZED + header.encode() + b"\n" + self._options.serialized + self._code

    def compile_options(self) -> bytes:
        return self._options.serialized

    def device_assignment(self) -> bytes:
        """The DeviceAssignmentProto that says on which devices it runs."""
        return device_assignment(self._options)

    def memory(self) -> tuple[int, int, int, int, int]:
        """Bytes of a call's arguments and results on a device, of donated arguments, of temporaries, of all.

        A donated argument is replaced by a result of the same size, as in XLA. A result that does not reuse
        the argument's memory has memory of its own until the call ends; the last figure includes it.
        """
        needed = self._program.executable.memory()
        arguments, results = self._device_bytes or (needed.arguments, needed.results)
        peak = arguments + results + needed.temporaries - needed.aliased
        return arguments, results, self.donated_bytes, needed.temporaries, peak

    def cost(self) -> dict[str, float]:
        """The cost of a call: see `cost_of`."""
        return cost_of(self._module, self._program.executable.memory())


def loaded_program(fingerprint: bytes) -> LoadedProgram | None:
    """The loaded program with this fingerprint; None if it was freed."""
    return _PROGRAMS.get(fingerprint)


def compile_program(code: bytes, format: str, options: bytes, device_count: int) -> LoadedProgram:
    """Compile a program.

    Args:
        code: text, MLIR bytecode or a VHLO portable artifact.
        format: PJRT's name of the format: ``"mlir"``.
        options: a CompileOptionsProto.
        device_count: the number of devices of the client.

    Raises:
        NimbleError: what `load_program`, `JaxProgram` and `parse_compile_options` raise.
        UnsupportedError: another format, or no function ``main``.
    """
    if format != "mlir":
        raise UnsupportedError(f"the program has the format {format!r}, but only mlir is supported")
    parsed = parse_compile_options(options, device_count)
    if parsed.replicas > 1 and parsed.partitions > 1:
        raise UnsupportedError("replicas and partitions cannot be combined; either alone is supported")
    given = _given(code, parsed.partitions > 1)
    is_stored = len(parsed.device_ids) == 1 and not parsed.settings.synchronous
    file = file_of(given, "main", parsed.settings.options, "JAX") if is_stored else None
    return LoadedProgram(given, code, parsed, file)


def deserialize_program(data: bytes, options: bytes | None, device_count: int) -> LoadedProgram:
    """Compile what `LoadedProgram.serialize` returned.

    Args:
        data: the serialized program.
        options: a CompileOptionsProto in place of the one that it was compiled with.
        device_count: the number of devices of the client.

    Raises:
        ParseError: the data is not a serialized program, or is one of another version.
    """
    if not data.startswith(_SERIALIZED):
        raise ParseError("the data is not a serialized program of NimbleHLO")
    header, _, rest = data[len(_SERIALIZED) :].partition(b"\n")
    try:
        description = json.loads(header)
        version, size = description["version"], int(description["options"])
    except (ValueError, KeyError, TypeError):
        raise ParseError("the data is a broken serialized program of NimbleHLO") from None
    if version != platform_version():
        raise ParseError(
            f"the program was serialized by NimbleHLO {version}, but this is {platform_version()}"
        )
    return compile_program(rest[size:], "mlir", rest[:size] if options is None else options, device_count)


def _same(module: Module) -> Module:
    return module


def _given(code: bytes, is_partitioned: bool) -> GivenProgram:
    """A program, which is loaded when its module is asked for."""

    @gc_paused
    def load() -> Module:
        module, calls_python = _load(code, is_partitioned)
        given.means_the_same = not calls_python
        if "main" not in module.functions:
            raise UnsupportedError("the program has no function @main")
        return module

    given = GivenProgram(load, ProgramText(code, "<bytes>"))
    return given


def _load(code: bytes, is_partitioned: bool) -> tuple[Module, bool]:
    """Load a program; Shardy, which propagates shardings, works on jaxlib's modules."""
    if is_partitioned:
        return load_program(_propagated(_with_shardy(_bytecode_module(code), code)), _prepare_partitioned)
    return load_program(code)


def _propagated(module: Any) -> Any:
    """jaxlib's module with all shardings; calls are inlined where propagation does not support them."""
    try:
        return propagated(module)
    except UnsupportedError:
        return propagated(_bytecode_module(str(with_inlined_calls(load_ir(module))).encode()))


def _prepare_partitioned(module: Module) -> None:
    restore_reductions(module)
    report_shardings(module)


def _with_shardy(module: Any, code: bytes) -> Any:
    """jaxlib's module, with GSPMD shardings converted to sdy."""
    if GSPMD_SHARDING.encode() not in code:
        return module
    return _bytecode_module(str(to_shardy(load_ir(module), verifies=False)).encode())


def _bytecode_module(code: bytes) -> Any:
    """jaxlib's module of text, of bytecode or of a portable artifact."""
    try:
        return read_module(code)
    except ValueError as error:
        raise ParseError(f"malformed bytecode: {error}") from None


def _portable_text(code: bytes) -> bytes:
    if not code.startswith(MAGIC):
        return code
    return str(_bytecode_module(code)).encode()


def _inlined_text(code: bytes) -> bytes:
    """The text of a program, in which calls are inlined that JAX wants to be (`jax.Inline.XLA_EARLY`)."""
    if _INLINED_EARLY.encode() not in code:
        return _portable_text(code)
    return str(with_inlined_calls(load_ir(code), _is_inlined_early)).encode()


def _is_inlined_early(call: Operation) -> bool:
    return frontend_attribute(call, "inlineable") == _INLINED_EARLY


def _device_program(module: Module, options: CompileOptions, calls_python: bool) -> Module | None:
    """The program of one device, if there is one; the sanitizer and the explorer run whole programs.

    Raises:
        UnsupportedError: the sanitizer or the explorer is on for a program of replicas.
    """
    if options.replicas > 1:
        if options.settings.synchronous:
            raise UnsupportedError("the sanitizer and the explorer do not support programs of replicas")
        return module
    if calls_python or options.settings.synchronous:
        return None
    from ...compiler.partitioner.partitioner import device_program

    return device_program(module, options.partitions)


def _local_text(module: Module | None) -> bytes:
    """The text of a device's program, as jaxlib reads it.

    Raises:
        UnsupportedError: there is none, or it has operations of sdy.
    """
    functions = None if module is None else Module(module.functions.values(), name=module.name)
    if module is None or functions is None or any(one.name.startswith("sdy.") for one in functions.walk()):
        raise UnsupportedError("this program is not partitioned: there is no program of one device")
    for operation in functions.walk():
        # The meshes, which groups may name, are operations of sdy.
        operation.attributes = attributes_with_known_groups(operation, module)
    # jaxlib cannot read what holds a function.
    return str(functions).replace(f", {HANDLER} = #nimblehlo.function", "").encode()


def _require_literals(module: Module) -> None:
    """Check that XLA has literals of the program's constants: it has none of 6-bit floats.

    Raises:
        UnsupportedError: it has not.
    """
    for operation in module.walk():
        for result in operation.results if operation.is_constant else ():
            type = result.type
            if isinstance(type, TensorType) and str(type.element_type) in _WITHOUT_LITERALS:
                raise UnsupportedError(f"XLA has no text of a program with constants of {type.element_type}")


def _donated_arguments(function: Function) -> tuple[int, ...]:
    """The numbers of the donated arguments."""
    return tuple(
        [
            index
            for index, attributes in enumerate(function.argument_attributes)
            if "tf.aliasing_output" in attributes or attributes.get("jax.buffer_donor") == BoolAttribute(True)
        ]
    )


def _donations_with_results(
    donated: Sequence[int], argument_bytes: Sequence[int], result_bytes: Sequence[int]
) -> tuple[int, ...]:
    """The donated arguments that are deleted, each for a result of the same size, as in XLA.

    JAX keeps an argument that was donated without use.
    """
    left = Counter(result_bytes)
    indices = []
    for index in donated:
        if left[argument_bytes[index]] > 0:
            left[argument_bytes[index]] -= 1
            indices.append(index)
    return tuple(indices)


def _bytes(type: Type, shape: Sequence[int] | None = None) -> int:
    """The bytes of an argument or result, of which a device has that shape; 0 for a token."""
    if not isinstance(type, TensorType):
        return 0
    return math.prod(type.shape if shape is None else shape) * type.dtype.itemsize


def _describe(type: Type) -> tuple[int, tuple[int, ...]]:
    """PJRT's element type and sizes of a result. A token is an array of no booleans."""
    if isinstance(type, TokenType):
        return PRED, (0,)
    if isinstance(type, TensorType) and isinstance(type.element_type, ElementType):
        number = NUMBERS.get(type.element_type.name)
        if number is not None:
            return number, type.shape
    raise UnsupportedError(f"results of type {type} cannot be returned through PJRT")


def _memories(attributes: Sequence[Mapping[str, Attribute]]) -> list[int]:
    """The memory kinds of arguments or results, as indices into MEMORY_KINDS."""
    numbers = []
    for named in attributes:
        kind = named.get("mhlo.memory_kind")
        name = kind.value if isinstance(kind, StringAttribute) else MEMORY_KINDS[0]
        if name not in MEMORY_KINDS:
            raise UnsupportedError(
                f"memory of the kind {name!r} is not supported; {', '.join(MEMORY_KINDS)} are"
            )
        numbers.append(MEMORY_KINDS.index(name))
    return numbers


def _is_slow(executable: Executable) -> bool:
    """Whether a first run may take long, by a static estimate."""
    needed = executable.memory_of_values()
    return needed.arguments + needed.results + needed.temporaries > MAX_QUICK_BYTES
