from nimblehlo.compiler.loops.llvm import codegen

_TEXT = """
define void @"f"(ptr %array) {
entry:
  br label %body
body:
  %index = phi i64 [0, %entry], [%following, %body]
  %element = getelementptr i64, ptr %array, i64 %index
  store volatile i64 %index, ptr %element
  %following = add nsw i64 %index, 1
  %continues = icmp slt i64 %following, 8
  br i1 %continues, label %body, label %end
end:
  ret void
}
"""


def _optimised(text: str) -> str:
    return str(codegen.CodeGenerator().optimised(text))


def test_loops_of_long_texts_are_not_unrolled() -> None:
    padding = ";" * (codegen._MAX_UNROLLED_BYTES - len(_TEXT))
    assert "phi i64" not in _optimised(_TEXT + padding)
    assert "phi i64" in _optimised(_TEXT + padding + ";")
