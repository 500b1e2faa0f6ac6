"""The compiler's passes, in the order in which they run, from a verified module to the steps of a plan.

`specialize.specialize` runs the first ones, `plan.lower` the others. A pass is named here and imported when
it runs. The rewrites that `simplify` tries stand in `compiler/specialize/rewrites/registry.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, Literal

from ..program.ir import Function
from ..program.ir.record import Record

Stage = Literal["bind", "simplify", "fuse", "join"]
Observe = Callable[["Pass", Function], None]
"""Is told each pass that has run, and the function as the pass leaves it."""


class Pass(Record):
    """A pass, or a pattern that one looks for.

    Attributes:
        name: its name.
        stage: ``"bind"``: from the module to one function with known sizes; ``"simplify"``: what makes that
            function smaller; ``"fuse"``: what becomes one loop; ``"join"``: steps that become one step.
        module: the module below this one with the function that runs it, which has the pass's name and takes
            the state of the stage; empty for a pattern that lowering looks for.
        needs: what has to hold before it.
        promises: what holds afterwards. Every pass keeps the bits of all results.
        is_required: whether programs cannot run without it.
        operation: the operation without which it has nothing to do, and is not imported; empty: any.
    """

    name: str
    stage: Stage
    module: str
    needs: str
    promises: str
    is_required: bool = False
    operation: str = ""

    def run(self, state: Any) -> None:
        """Run it if the function has its operation; `state` is that of its stage."""
        if not self.operation or _has(state.function, self.operation):
            module = importlib.import_module(f".{self.module}", __package__)
            getattr(module, self.name.replace("-", "_"))(state)


def _has(function: Function, name: str) -> bool:
    return any(operation.name == name for body in function.bodies for operation in body.walk())


PASSES: Final = (
    Pass(
        "convert-shardings",
        "bind",
        "specialize.stages",
        needs="a verified module",
        promises="GSPMD's shardings are operations and attributes of the sdy dialect",
        is_required=True,
    ),
    Pass(
        "inline",
        "bind",
        "specialize.stages",
        needs="calls form no circle",
        promises="one function without calls, composites that are not registered, or shardings",
        is_required=True,
    ),
    Pass(
        "round-correctly",
        "bind",
        "specialize.stages",
        needs="one function",
        promises="functions of f32 are rounded correctly, if the options ask for that",
        is_required=True,
    ),
    Pass(
        "convert-explicitly",
        "bind",
        "specialize.stages",
        needs="one function",
        promises="operands have the element types in which regions compute",
        is_required=True,
    ),
    Pass(
        "propagate",
        "bind",
        "specialize.stages",
        needs="the types of the arguments",
        promises="what follows from sizes and constants is constant, and every constraint holds for it",
        is_required=True,
    ),
    Pass(
        "bind-process-ids",
        "simplify",
        "specialize.stages",
        needs="one function",
        promises="the ids of a process are arguments, so that all processes share one plan",
        is_required=True,
    ),
    Pass(
        "exclude-partial-windows",
        "simplify",
        "specialize.stages",
        needs="start indices as operands",
        promises="scatters drop windows that are partly out of bounds, if the program asks for that",
        is_required=True,
        operation="stablehlo.scatter",
    ),
    Pass(
        "remove-unused",
        "simplify",
        "specialize.stages",
        needs="one function",
        promises="equal operations run once; no operation without effects has unused results",
    ),
    Pass(
        "gather-early",
        "simplify",
        "fusion.early_gathers",
        needs="gathers that read the results of elementwise operations",
        promises="elements that no gather reads are not computed",
        operation="stablehlo.gather",
    ),
    Pass(
        "outline",
        "simplify",
        "specialize.stages",
        needs="a large function",
        promises="subgraphs that occur several times are compiled once, as callees",
    ),
    Pass(
        "simplify",
        "simplify",
        "specialize.stages",
        needs="static types",
        promises="no rewrite of the registry applies, unless six visits of the program are too few",
    ),
    Pass(
        "reduce-before-transposing",
        "simplify",
        "specialize.stages",
        needs="simplified reductions",
        promises="reductions read rows where their operand is a transpose",
    ),
    Pass(
        "multiply-before-transposing",
        "simplify",
        "specialize.stages",
        needs="simplified products",
        promises="products whose right operand is a transpose of a constant read the constant, packed once",
    ),
    Pass(
        "require-targets",
        "simplify",
        "specialize.stages",
        needs="no unused custom calls",
        promises="the custom calls that run for all arguments have targets",
    ),
    Pass(
        "update-late",
        "fuse",
        "plan.fusion_passes",
        needs="no fusions",
        promises="updates of arrays follow the other readers of these arrays, so that nothing is copied",
    ),
    Pass(
        "split-scatter-indices",
        "fuse",
        "plan.fusion_passes",
        needs="simplified scatters",
        promises="large scatters read the components of concatenated index vectors, which need no array",
    ),
    Pass(
        "combine-pairs",
        "fuse",
        "plan.fusion_passes",
        needs="reductions in the default order",
        promises="reductions over the last dimensions and others combine those first, few elementwise",
        operation="stablehlo.reduce",
    ),
    Pass(
        "fuse-rows",
        "fuse",
        "plan.fusion_passes",
        needs="reductions of rows in the default order",
        promises="reductions and the operations on their rows are one row fusion; functions outlined for the "
        "passes up to here are inlined again",
    ),
    Pass(
        "fuse-reductions",
        "fuse",
        "plan.fusion_passes",
        needs="reductions that no row fusion has",
        promises="reductions of one operand, and what computes it, are one reduction fusion",
    ),
    Pass(
        "fuse-elementwise",
        "fuse",
        "plan.fusion_passes",
        needs="the other fusions of a block",
        promises="elementwise operations, moves and gathers are loops without intermediate arrays",
    ),
    Pass(
        "rematerialize",
        "fuse",
        "plan.fusion_passes",
        needs="fusions",
        promises="cheap values are computed again where keeping them raises the peak of memory",
    ),
    Pass(
        "fuse-small-steps",
        "fuse",
        "plan.fusion_passes",
        needs="operations that no loop has",
        promises="sequences of operations on few elements are one native function",
    ),
    Pass(
        "reduce-early",
        "fuse",
        "plan.fusion_passes",
        needs="fusions",
        promises="reductions that free their operands run as soon as these are computed",
    ),
    Pass(
        "join-epilogues",
        "join",
        "",
        needs="a product or a convolution, and an elementwise fusion that alone reads it",
        promises="one step, block by block",
    ),
    Pass(
        "join-attention",
        "join",
        "",
        needs="a product, a fusion of its rows, and the product with that",
        promises="one step, block by block, without the matrix between the products",
    ),
)
"""All of them. `Options(last_pass=...)` leaves out what follows a pass and is not required."""

NAMES: Final = tuple([each.name for each in PASSES])


def is_enabled(name: str, last_pass: str | None) -> bool:
    """Whether a pass runs where `last_pass` is the last optional one; None: all run."""
    index = NAMES.index(name)
    return last_pass is None or PASSES[index].is_required or index <= NAMES.index(last_pass)


def run(stage: Stage, state: Any, last_pass: str | None, observe: Observe | None = None) -> None:
    """Run the passes of a stage.

    Args:
        stage: the stage.
        state: what its passes take; `state.function` is the function as it stands.
        last_pass: the last optional pass; None: all run.
        observe: is told each pass that has run.
    """
    for each in PASSES:
        if each.stage == stage and each.module and is_enabled(each.name, last_pass):
            each.run(state)
            if observe is not None:
                observe(each, state.function)


def require_pass(name: str | None) -> None:
    """Check the value of `Options.last_pass`.

    Raises:
        ValueError: there is no pass of that name.
    """
    if name is not None and name not in NAMES:
        raise ValueError(f"last_pass is {name!r}, but must be None or one of {NAMES}")
