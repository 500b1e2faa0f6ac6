"""Programs of several processes."""

from __future__ import annotations

ADD = """
      ^bb0(%a: tensor<{0}>, %b: tensor<{0}>):
        %sum = stablehlo.add %a, %b : tensor<{0}>
        stablehlo.return %sum : tensor<{0}>"""


def function(inputs: str, body: str, results: str) -> str:
    """A module with a function @main."""
    return f"func.func @main({inputs}) -> ({results}) {{\n{body}\n}}"


def groups(rows: list[list[int]]) -> str:
    """The attribute `replica_groups`."""
    return f"replica_groups = dense<{rows}> : tensor<{len(rows)}x{len(rows[0])}xi64>"


def channel(handle: int, kind: int = 1) -> str:
    """The attribute `channel_handle`."""
    return f"channel_handle = #stablehlo.channel_handle<handle = {handle}, type = {kind}>"


def all_reduce(
    type: str, attributes: str, region: str = "", operand: str = "%x", result: str = "%r", to: str = ""
) -> str:
    """The operation, on `type`; adds where no region is given."""
    element = type.removesuffix(">").split("x")[-1].removeprefix("tensor<")
    return (
        f'{result} = "stablehlo.all_reduce"({operand}) ({{{region or ADD.format(element)}\n    }}) '
        f"{{{attributes}}} : ({type}) -> {to or type}"
    )
