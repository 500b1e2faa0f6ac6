"""Broken text of any kind: a NimbleError that shows the place, soon, and nothing else."""

import contextlib
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nimblehlo
from nimblehlo.errors import NimbleError, ParseError, VerifyError
from nimblehlo.program.frontend import parse

SAMPLE = """#a = 1 : i32
module @m attributes {x.a = #a, x.s = "s\\22", x.l = [1, 2.0], x.d = dense<[[1, 2]]> : tensor<1x2xi8>} {
  func.func public @main(
      %arg0: tensor<2x!quant.uniform<i8:f32, 0.5:1>>, %arg1: tensor<?xf32> {x.y}) -> tensor<f32> {
    %c = stablehlo.constant dense<"0x00000000"> : tensor<f32>
    %0:2 = stablehlo.while(%i = %c, %j = %arg1) : tensor<f32>, tensor<?xf32> cond {
      %1 = stablehlo.compare LT, %i, %i, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      stablehlo.return %i, %j : tensor<f32>, tensor<?xf32>
    }
    %2 = "stablehlo.reduce"(%arg1, %c) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32> loc("a"), %b: tensor<f32>):
      %3 = stablehlo.add %a, %b : tensor<f32> loc(callsite("f" at "g":1:2))
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32> loc(#l)
  }
}
#l = loc("end")
"""


def test_the_sample_is_well_formed() -> None:
    assert list(parse(SAMPLE).functions) == ["main"]


def test_message_shows_the_place() -> None:
    text = "func.func @main(%a: tensor<f32>) {\n  %0 = stablehlo.abs %a ; tensor<f32>\n  return\n}"
    with pytest.raises(ParseError) as caught:
        parse(text, "model.mlir")
    assert str(caught.value) == (
        "model.mlir:2:25: expected ':'\n  %0 = stablehlo.abs %a ; tensor<f32>\n                        ^"
    )
    assert caught.value.location == "model.mlir:2:25"


def test_long_lines_are_abridged() -> None:
    text = f'module attributes {{a.b = "{"x" * 5000}" ; c = "{"y" * 5000}"}} {{}}'
    with pytest.raises(ParseError) as caught:
        parse(text)
    _, line, caret = str(caught.value).split("\n")
    assert len(line) < 120
    assert line.startswith("...")
    assert line.endswith("...")
    assert line[caret.index("^")] == ";"


def test_tabs_and_control_characters_do_not_shift_the_caret() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\tmodule\x07 ;")
    _, line, caret = str(caught.value).split("\n")
    assert (line, caret) == (" module  ;", "       ^")


@pytest.mark.parametrize("text", ["hello world", "oops", 'module attributes {a.b = "\ud800"} {}', "\udfff"])
def test_what_is_no_program(text: str) -> None:
    with pytest.raises(ParseError, match=r"<text>:1:\d+: "):
        parse(text)


def test_truncated_at_every_character() -> None:
    whole = SAMPLE.rstrip()
    for end in range(len(whole)):
        try:
            parse(whole[:end])
        except NimbleError:
            continue
        # What is left must be complete in itself: nothing, the alias alone, or all but the last alias.
        assert whole[:end].rstrip().endswith(("i32", "}", "#a = 1", "#a = 1 : i3")) or end < 12


def test_every_character_replaced_or_removed() -> None:
    for position in range(0, len(SAMPLE), 7):
        for replacement in ("", '"', "<", "%", "\0", "9"):
            try:
                parse(SAMPLE[:position] + replacement + SAMPLE[position + 1 :])
            except NimbleError:
                continue


@given(st.text(alphabet='%@#!^<>(){}[]:=,->"\\/. \n0123456789xabtensorfi', max_size=60))
def test_random_characters(text: str) -> None:
    for program in (text, f"module {{ {text} }}", f"module attributes {{a.b = {text}}} {{}}"):
        try:
            parse(program)
        except NimbleError:
            continue


@given(st.data())
def test_random_pieces(data: st.DataObject) -> None:
    literal_text = SAMPLE.split(" ")
    chosen = data.draw(st.lists(st.sampled_from(literal_text), max_size=30))
    with contextlib.suppress(NimbleError):
        parse(" ".join(chosen))


DEPTH = 10_000

DEEP = {
    "types": f"func.func private @f({'tuple<' * DEPTH}{'>' * DEPTH})",
    "function types": f"func.func private @f({'() -> (' * DEPTH}{')' * DEPTH})",
    "arrays": f"module attributes {{a.b = {'[' * DEPTH}{']' * DEPTH}}} {{}}",
    "dictionaries": f"module attributes {{a.b = {'{a = ' * DEPTH}1{'}' * DEPTH}}} {{}}",
    "dense": f"module attributes {{a.b = dense<{'[' * DEPTH}1{']' * DEPTH}> : tensor<1xi8>}} {{}}",
    "opaque": f"module attributes {{a.b = #x<{'<' * DEPTH}{'>' * DEPTH}>}} {{}}",
    "structs": f"module attributes {{a.b = {'#stablehlo.x<a = ' * DEPTH}1{'>' * DEPTH}}} {{}}",
    "struct lists": f"module attributes {{a.b = #stablehlo.x<a = {'[<b = ' * DEPTH}1{'>]' * DEPTH}>}} {{}}",
    "locations": f"module {{}} loc({'callsite(' * DEPTH}",
    "modules": "module {" * DEPTH + "}" * DEPTH,
    "regions": "func.func @f() {" + '"a.b"() ({' * DEPTH + "}) : () -> ()" * DEPTH + "return }",
    "pretty regions": "func.func @f() {" + "stablehlo.while() cond {" * DEPTH,
    "aliases": "\n".join(f"#a{n} = [#a{n + 1}]" for n in range(DEPTH)) + "\nmodule attributes {a.b = #a0} {}",
    "type aliases": "\n".join(f"!a{n} = tuple<!a{n + 1}>" for n in range(DEPTH))
    + "\nfunc.func private @f(!a0)",
    "open brackets": "(" * DEPTH,
    "comments": "//" * DEPTH + "\n" + "/" * DEPTH,
    "strings": 'module attributes {a.b = "' + "\\22" * DEPTH,
    "results": "%a, " * DEPTH + "= x.y",
    "minus signs": "module attributes {a.b = " + "-" * DEPTH,
}


@pytest.mark.parametrize("name", DEEP)
def test_nesting_and_repetition_end_soon(name: str) -> None:
    started = time.thread_time()
    with contextlib.suppress(NimbleError):
        parse(DEEP[name])
    assert time.thread_time() - started < 1.0


@pytest.mark.parametrize("name", ["types", "arrays", "modules", "regions", "aliases", "structs"])
def test_nesting_that_is_too_deep_says_so(name: str) -> None:
    with pytest.raises(ParseError, match="nested"):
        parse(DEEP[name])


def test_deep_calling_code() -> None:
    def call(depth: int) -> None:
        if depth:
            call(depth - 1)
        else:
            with pytest.raises(NimbleError):
                parse("[" * 200 + f"module attributes {{a.b = {'[' * 100}{']' * 100}}} {{")

    for depth in (100, 300, 500, 700):
        call(depth)


@pytest.mark.parametrize(
    "type",
    [
        "tensor<9223372036854775807xf32>",
        "tensor<9999999x9999999x9999999xf32>",
        "tensor<99999999999x0x9999999999xf32>",
    ],
)
def test_absurd_sizes_allocate_nothing(type: str) -> None:
    tracemalloc.start()
    for body in ("0.0", '"0x00000000"', "[0.0]", ""):
        try:
            parse(f"module attributes {{a.b = dense<{body}> : {type}}} {{}}")
        except ParseError:
            continue
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert parse(f"func.func private @f({type})").functions["f"].type.inputs[0].shape  # type: ignore[union-attr]


def test_long_texts_take_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        body = "".join(
            f"  %{n + 1} = stablehlo.abs %{n} : tensor<f32> loc(#l{n % 7})\n" for n in range(count)
        )
        ends = "".join(f'#l{n} = loc("l{n}")\n' for n in range(7))
        text = f"func.func @f(%0: tensor<f32>) {{\n{body}  return\n}}\n{ends}"
        started = time.thread_time()
        parse(text)
        return time.thread_time() - started

    seconds(100)
    assert min(seconds(4000) for _ in range(3)) < 40 * min(seconds(500) for _ in range(3))


@pytest.mark.parametrize("arguments", ["", "%a: tensor<f32>"])
def test_a_body_without_operations_has_no_terminator(arguments: str) -> None:
    with pytest.raises(VerifyError, match="must be one block that ends with a terminator"):
        nimblehlo.load(f"func.func @main({arguments}) {{}}")
