"""`Options(scatter_out_of_bounds="auto")`: programs that were made for XLA are run as XLA runs them."""

from __future__ import annotations

import io
from typing import Any

import jax
import numpy as np
import pytest
from jax import export, lax

import nimblehlo
from nimblehlo import Options, explore
from nimblehlo.compiler.transforms import decompose_batching_dims, refine

NUMBERS = lax.ScatterDimensionNumbers((1,), (), (0,))
INPUTS = [np.zeros(4, np.float32), np.array([[3], [1], [-1]], np.int32), np.ones((3, 2), np.float32)]
BY_WINDOW, BY_ELEMENT = [0, 1, 1, 0], [1, 1, 1, 1]


def cut(a: Any, i: Any, u: Any) -> Any:
    """A scatter of windows of two elements, the first and the last of which lie partly outside."""
    return lax.scatter_add(a, i, u, NUMBERS)


def program(module: str = "", function: str = "", argument: str = "", result: str = "") -> str:
    """The same as text, with attributes of the module, of its function, of an argument and of the result."""
    returned = f"(tensor<4xf32> {result})" if result else "tensor<4xf32>"
    attributes = f"attributes {function}" if function else ""
    return f"""module @program {f"attributes {module}" if module else ""} {{
      func.func public @main(%a: tensor<4xf32> {argument}, %i: tensor<3x1xi32>, %u: tensor<3x2xf32>)
          -> {returned} {attributes} {{
        %0 = "stablehlo.scatter"(%a, %i, %u) ({{
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
              scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
          : (tensor<4xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }}
    }}"""


def forms() -> dict[str, Any]:
    """What JAX makes of `cut`, and what becomes of that."""
    lowered = jax.jit(cut).lower(*INPUTS)
    module = lowered.compiler_ir("stablehlo")
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    sizes = export.symbolic_args_specs(tuple(INPUTS), ("4", "k, 1", "k, 2"))
    exported, polymorphic = export.export(jax.jit(cut))(*INPUTS), export.export(jax.jit(cut))(*sizes)
    return {
        "text": lowered.as_text(),
        "bytecode": bytecode.getvalue(),
        "Lowered": lowered,
        "ir.Module": module,
        "Exported": exported,
        "Exported, of any sizes": polymorphic,
        "artifact": exported.mlir_module_serialized,
        "refined": refine(polymorphic, INPUTS),
        "text of what was refined": str(refine(polymorphic, INPUTS)),
        "decomposed": decompose_batching_dims(module),
    }


def test_what_comes_from_jax_is_run_as_by_jax() -> None:
    assert np.asarray(jax.jit(cut)(*INPUTS)).tolist() == BY_WINDOW
    for form, module in forms().items():
        executable = nimblehlo.compile(module)
        assert executable(*INPUTS)[0].tolist() == BY_WINDOW, form
        plan = executable.explain("plan")
        assert "scatters leave out each window that lies partly outside: as by XLA" in plan, form
        (by_element,) = nimblehlo.execute(module, INPUTS, options=Options(scatter_out_of_bounds="element"))
        assert by_element.tolist() == BY_ELEMENT, form


@pytest.mark.parametrize(
    ("attributes", "mark"),
    [
        ({"module": "{mhlo.num_partitions = 1 : i32}"}, "the module has mhlo.num_partitions"),
        ({"module": "{jax.uses_shape_polymorphism = false}"}, "the module has jax.uses_shape_polymorphism"),
        ({"result": '{jax.result_info = "result"}'}, "result 0 of @main has jax.result_info"),
        ({"argument": '{jax.arg_info = "a"}'}, "argument 0 of @main has jax.arg_info"),
        ({"argument": "{tf.aliasing_output = 0 : i32}"}, "argument 0 of @main has tf.aliasing_output"),
        ({"function": '{mhlo.memory_kind = "device"}'}, "@main has mhlo.memory_kind"),
    ],
)
def test_attributes_of_xla_decide(attributes: dict[str, str], mark: str) -> None:
    executable = nimblehlo.compile(program(**attributes))
    assert executable(*INPUTS)[0].tolist() == BY_WINDOW
    assert mark in executable.explain("plan")


@pytest.mark.parametrize(
    "attributes",
    [{}, {"module": "{my.partitions = 1 : i32}"}, {"argument": '{sdy.note = "mhlo.jax"}'}],
)
def test_other_programs_are_run_as_the_specification_says(attributes: dict[str, str]) -> None:
    executable = nimblehlo.compile(program(**attributes))
    assert executable(*INPUTS)[0].tolist() == BY_ELEMENT
    assert "scatters leave out the elements that lie outside: as the specification" in executable.explain()


def test_one_function_of_jax_decides_for_the_module() -> None:
    """A function of another origin that calls one of JAX's, as where modules were merged by hand."""
    merged = program().replace("public @main", "private @edited").replace("module @program", "module")
    main = """func.func @main(%a: tensor<4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2xf32>)
          -> (tensor<4xf32> {jax.result_info = "result"}) {
        %0 = call @edited(%a, %i, %u) : (tensor<4xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }"""
    merged = merged[: merged.rindex("}")] + main
    assert nimblehlo.execute(merged, INPUTS)[0].tolist() == BY_WINDOW
    without = merged.replace('{jax.result_info = "result"}', "")
    assert nimblehlo.execute(without, INPUTS)[0].tolist() == BY_ELEMENT


@pytest.mark.parametrize("unit", ["window", "element"])
def test_the_option_decides_before_attributes(unit: Any) -> None:
    expected = {"window": BY_WINDOW, "element": BY_ELEMENT}[unit]
    for text in (program(), program(module="{mhlo.num_partitions = 1 : i32}")):
        executable = nimblehlo.compile(text, options=Options(scatter_out_of_bounds=unit))
        assert executable(*INPUTS)[0].tolist() == expected
        assert f"Options(scatter_out_of_bounds='{unit}')" in executable.explain("plan")


def test_nothing_is_said_of_programs_without_scatters() -> None:
    text = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }"
    assert "scatters" not in nimblehlo.compile(text).explain()


def test_the_sanitizer_and_the_explorer_decide_likewise() -> None:
    for text, expected, dropped in (
        (program(module="{mhlo.num_partitions = 1 : i32}"), BY_WINDOW, 2),
        (program(), BY_ELEMENT, 2),
    ):
        options = Options(sanitize=True, sanitize_action="collect")
        executable = nimblehlo.compile(text, options=options)
        assert executable(*INPUTS)[0].tolist() == expected
        (finding,) = executable.findings
        assert (finding.check, finding.count) == ("dropped_updates", dropped)
        assert explore(text, INPUTS).results[0].baseline.tolist() == expected
