"""JAX's lowering rules for the platform: the CPU's, except for callbacks and operations that stay in CHLO.

Before jaxlib hands a program to a plugin it expands most operations of CHLO into dozens of StableHLO
operations. It leaves composites as they are, so rules here wrap such an operation in a composite of its
name; when the program is inlined the operation comes back
(`nimblehlo.compiler.specialize.replace_calls.recomposed`). Any other consumer of the program sees the
composite's decomposition.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

from ..program.frontend import jax_names as compatibility
from ..program.ops.custom_calls.encoded_operations import VERSION
from .callbacks import ModuleCallbacks

PLATFORM: Final = "nimblehlo"

CALLBACKS: Final = ("buffer_callback",)
"""Primitives whose rules emit calls of Python functions without JAX's `emit_python_callback`."""

COMPOSITES: Final = {
    "bessel_i1e": "chlo.bessel_i1e",
    "digamma": "chlo.digamma",
    "erf_inv": "chlo.erf_inv",
    "erfc": "chlo.erfc",
    "lgamma": "chlo.lgamma",
    "mulhi": "chlo.mulhi",
    "nextafter": "chlo.next_after",
    "polygamma": "chlo.polygamma",
    "zeta": "chlo.zeta",
}
"""Primitives that become one operation of CHLO, which jaxlib would expand."""

EXPANDED: Final = ("lgamma",)
"""Primitives of `COMPOSITES` with one operand that JAX's own rule expands: since jax 0.12, in f32."""

BRANCHES: Final = {"platform_index": "platforms", "cond": "branches_platforms"}
"""Primitives that choose a branch by platform, and the parameter with the platforms of the branches."""

EXPORTED: Final = "call_exported"
"""The primitive that calls an exported program."""

Rule = Callable[..., Any]


def register() -> None:
    """Register the platform's lowering rules. Idempotent.

    Raises:
        UnsupportedError: the installed JAX lacks a name that this needs.
    """
    compatibility.TRUSTED_PLUGINS.get().add(PLATFORM)
    donating = compatibility.DONATING_PLATFORMS.get()
    if PLATFORM not in donating:
        donating.append(PLATFORM)
    _add_cpu_platform()
    for emit in (compatibility.EMIT_CALLBACK, compatibility.EXPORTED_EMIT_CALLBACK):
        compatibility.wrap(emit, _wrap_emit_callback)
    compatibility.wrap(compatibility.IS_CACHE_USED, _wrap_is_cache_used)
    rules = compatibility.PLATFORM_RULES.get()
    if isinstance(rules[PLATFORM], ChainMap):
        return
    # Rules that other modules register for the CPU later hold here as well.
    rules[PLATFORM] = ChainMap(dict(rules[PLATFORM]), rules["cpu"])
    common = compatibility.COMMON_RULES.get()
    register_rule = compatibility.REGISTER_LOWERING.get()
    for name, primitive in compatibility.primitives().items():
        entry = rules["cpu"].get(primitive) or common[primitive]
        register_rule(primitive, _rule_of(name, entry.rule), platform=PLATFORM, inline=entry.inline)


def _rule_of(name: str, rule: Rule) -> Rule:
    """The platform's rule of a primitive, from the CPU's."""
    if name in CALLBACKS:
        return _use_process_callbacks(rule)
    if name == EXPORTED:
        return _accept_exports_for_cpu(rule)
    if name in BRANCHES:
        return _use_branches_for_cpu(BRANCHES[name], rule)
    return _as_composite(COMPOSITES[name], rule, is_expanded=name in EXPANDED)


def _add_cpu_platform() -> None:
    """Make JAX start its CPU backend after this one: callbacks get their arguments on it."""
    import jax

    config: Any = jax.config
    platforms = config.jax_platforms or os.environ.get("JAX_PLATFORMS")
    if platforms and "cpu" not in (names := platforms.split(",")) and PLATFORM in names:
        config.update("jax_platforms", f"{platforms},cpu")


def _cpu_context(context: Any) -> Any:
    """A copy of JAX's lowering context for the CPU, with process-wide indices of callbacks."""
    module = context.module_context
    return context.replace(
        module_context=module.replace(
            platforms=("cpu",), backend=None, host_callbacks=ModuleCallbacks(module.add_keepalive)
        )
    )


def _wrap_emit_callback(emit: Callable[..., object]) -> Callable[..., Any]:
    """Wrap JAX's function that emits calls of Python functions, which rejects unknown platforms."""

    def emit_python_callback(context: Any, *arguments: object, **keywords: object) -> Any:
        if tuple(context.module_context.platforms) == (PLATFORM,):
            context = _cpu_context(context)
        return emit(context, *arguments, **keywords)

    return emit_python_callback


def _wrap_is_cache_used(is_cache_used: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Wrap JAX's function that decides whether a client's programs are cached on disk.

    It knows the platforms with a cache by name, and decides for the process when it is first called.
    """

    def is_used(client: Any) -> bool:
        return is_cache_used(SimpleNamespace(platform="cpu") if client.platform == PLATFORM else client)

    return is_used


def _use_process_callbacks(rule: Rule) -> Rule:
    """The CPU's rule, with process-wide indices of callbacks (`callbacks`)."""

    def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
        return _lower_for_cpu(rule, context, *operands, **parameters)

    return lower


def _accept_exports_for_cpu(rule: Rule) -> Rule:
    """A rule that accepts programs which were exported for the CPU only."""

    def lower(context: Any, *operands: Any, exported: Any) -> Any:
        has_platform = PLATFORM in exported.platforms or "cpu" not in exported.platforms
        if has_platform or tuple(context.module_context.platforms) != (PLATFORM,):
            return rule(context, *operands, exported=exported)
        return _lower_for_cpu(rule, context, *operands, exported=exported)

    return lower


def _lower_for_cpu(rule: Rule, context: Any, *operands: Any, **parameters: Any) -> Any:
    as_cpu = _cpu_context(context)
    results = rule(as_cpu, *operands, **parameters)
    if as_cpu.tokens_out is not context.tokens_out:
        context.set_tokens_out(as_cpu.tokens_out)
    return results


def _use_branches_for_cpu(parameter: str, rule: Rule) -> Rule:
    """A rule that uses the CPU's branch if the program has none for this platform."""

    def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
        platforms = parameters.get(parameter)
        if platforms is not None and not any(PLATFORM in one for one in platforms if one is not None):
            parameters[parameter] = tuple(
                (*one, PLATFORM) if one is not None and "cpu" in one else one for one in platforms
            )
        return rule(context, *operands, **parameters)

    return lower


def _as_composite(name: str, rule: Rule, *, is_expanded: bool) -> Rule:
    """A rule that wraps the operation `name` of another rule in a composite of that name.

    With several devices it changes nothing: JAX's propagation of shardings does not know composites.

    Args:
        name: of an operation of CHLO.
        rule: JAX's.
        is_expanded: that rule may emit other operations instead, so the operation is made here.
    """

    def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
        if getattr(context.module_context.axis_context, "num_devices", None) not in (None, 1):
            return rule(context, *operands, **parameters)
        if is_expanded and not parameters:
            (operand,) = operands
            made = compatibility.IR.get().Operation.create(name, [operand.type], operands)
            return [_wrapped(context.module_context, made)]
        results = rule(context, *operands, **parameters)
        (result,) = results
        operation = getattr(result.owner, "operation", None)
        if operation is None or operation.name != name or len(operation.attributes):
            return results
        return [_wrapped(context.module_context, operation)]

    return lower


def _wrapped(module: Any, operation: Any) -> Any:
    """The result of the composite that replaces an operation with one result.

    Args:
        module: JAX's context of the module that is being lowered.
        operation: is erased.
    """
    ir, hlo = compatibility.IR.get(), compatibility.HLO.get()
    operands = list(operation.operands)
    function = _decomposition(module, operation)
    composite = hlo.CompositeOp(
        [operation.result.type],
        operands,
        name=ir.StringAttr.get(operation.name),
        decomposition=ir.FlatSymbolRefAttr.get(function.name.value),
        composite_attributes=ir.DictAttr.get({}),
        version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), VERSION),
    )
    operation.erase()
    return composite.results[0]


def _decomposition(module: Any, operation: Any) -> Any:
    """A private function that contains an operation; one for each combination of operation and types."""
    ir, func = compatibility.IR.get(), compatibility.FUNC.get()
    types = tuple(operand.type for operand in operation.operands)
    key = (PLATFORM, operation.name, types)
    function = module.cached_primitive_lowerings.get(key)
    if function is None:
        type = ir.FunctionType.get(types, [operation.result.type])
        function = func.FuncOp(operation.name, type, ip=module.ip)
        function.attributes["sym_visibility"] = ir.StringAttr.get("private")
        module.symbol_table.insert(function)
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            copied = operation.clone()
            for index, argument in enumerate(block.arguments):
                copied.operands[index] = argument
            func.ReturnOp(copied.results)
        module.cached_primitive_lowerings[key] = function
    return function
