"""The search for targets in the sources of producers: what it takes for one, and what not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.producer_targets import TESTS, attributes, collected, main, targets


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('xla::CustomCall(&builder, "TopThing", {x, y}, shape, "opaque")', {"TopThing"}),
        ('constexpr absl::string_view kPadCallTarget = "PadThing";', {"PadThing"}),
        ('inline constexpr char kThingCustomCallTarget[] =\n    "Thing";', {"Thing"}),
        ('if (hlo->custom_call_target() == "Compared") {', {"Compared"}),
        ('if (instruction->IsCustomCall("Asked")) {', {"Asked"}),
        ('op.setCallTargetName("Set");', {"Set"}),
        ('rewriter.getNamedAttr("call_target_name", rewriter.getStringAttr("Named"))', {"Named"}),
        ('ENTRY e { ROOT r = f32[] custom-call(), custom_call_target="Text" }', {"Text"}),
        ('"%0 = stablehlo.custom_call @Written(%x)"', {"Written"}),
        ('XLA_FFI_REGISTER_HANDLER(GetXlaFfiApi(), "registered", "Host", kFunction);', {"registered"}),
        ('x = custom_call("of_python", result_types=[t], operands=[x])', {"of_python"}),
        ('DYNAMIC_TOP_K_TARGET: str = "of_a_constant"', {"of_a_constant"}),
        ('print("custom call")\nname = "Other"', set()),
    ],
)
def test_what_is_a_target(text: str, names: set[str]) -> None:
    assert targets(text) == names


def test_attributes_of_mhlo() -> None:
    text = 'op->setAttr("mhlo.sharding", x); // mhlo.other\n attr("mhlo.num_partitions")'
    assert attributes(text) == {"mhlo.sharding", "mhlo.num_partitions"}


def test_names_of_tests_are_made_up() -> None:
    assert all(map(TESTS.search, ("xla/tests/a.cc", "a/b_test.cc", "python/testing/x.py", "docs/a.py")))
    assert not any(map(TESTS.search, ("xla/service/latest.cc", "xla/contest/a.cc")))


def test_a_repository_is_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = tmp_path / "producer" / "repo"
    (repository / "tests").mkdir(parents=True)
    (repository / "a.cc").write_text('CustomCall(b, "Sharding", x); CustomCall(b, "NobodyKnows", x);')
    (repository / "tests" / "b.cc").write_text('CustomCall(b, "OfATest", x);')
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    assert collected([repository], targets) == {
        "NobodyKnows": ["producer/a.cc"],
        "Sharding": ["producer/a.cc"],
    }
    assert main([str(repository)]) == 1
    assert capsys.readouterr().out == "NobodyKnows: producer/a.cc\n2 names, 1 unknown\n"
