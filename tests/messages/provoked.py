"""Messages that rejected programs and mutants provoke, and the templates that they are instances of."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from unittest import mock

from nimblehlo import NimbleError, Options, execute, load
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.framework.verify import verify_view
from tests.program.ops.rejections import changed_inputs, modules_of_tests, parse_and_verify
from tests.robustness.corpus import programs, texts_of
from tests.robustness.mutation import Mutator
from tests.robustness.trial import attempt


def rejected_programs() -> Iterator[str]:
    """The programs of every table of rejected programs in the tests of operations."""
    for module in modules_of_tests():
        for name, table in vars(module).items():
            if name.isupper() and "REJECTED" in name:
                yield from texts_of(table)


def of_texts(texts: Iterable[str]) -> Iterator[str]:
    """The messages of programs that are loaded and, if they are without inputs, run."""
    for text in texts:
        try:
            module = load(text)
            if "main" in module.functions and not module.functions["main"].type.inputs:
                execute(module, options=Options(compile="never"))
        except NimbleError as error:
            yield str(error)


def of_wrong_inputs() -> Iterator[str]:
    """The messages for each operand and attribute of another kind, in the programs of `ACCEPTED`."""
    for module in modules_of_tests():
        for text in getattr(module, "ACCEPTED", ()):
            for operation in parse_and_verify(text).walk():
                for _, changed in changed_inputs(operation, Op.of(operation)):
                    try:
                        verify_view(Op.of(changed))
                    except NimbleError as error:
                        yield str(error)


def of_mutants(numbers: Sequence[int], seed: int, conformance: bool = False) -> Iterator[str]:
    """The messages that mutants provoke in `load`, `compile` and a run."""
    mutator = Mutator(list(programs(conformance)))
    for number in numbers:
        yield from of_trial(mutator.mutant(seed, number))


def of_trial(text: str) -> list[str]:
    """The messages of the errors that leave a trial of `tests.robustness`, which keeps them to itself."""
    messages: list[str] = []
    original = NimbleError.__init__

    def record(error: NimbleError, reason: str, **named: Any) -> None:
        original(error, reason, **named)
        messages.append(str(error))

    with mock.patch.object(NimbleError, "__init__", record), contextlib.suppress(Exception):
        attempt(text, Options(compile="never"), lambda phase: None)
    return messages[-1:]


_TYPES: Final = r"tensor|complex|memref|tuple|vector|!quant\.uniform|!stablehlo\.future"


def template(message: str) -> str:
    """A message without what differs between programs: names, numbers, types and lists."""
    text = message.split("\n", 1)[0]
    text = re.sub(r", at \S+:\d+:\d+.*$", "", text)
    text = re.sub(r"^\S+:\d+:\d+: ", "", text)
    text = re.sub(r"'(?:[^'\\]|\\.)*'", "'...'", text)
    text = re.sub(r'"[^"]*"', '"..."', text)
    for _ in range(4):
        text = re.sub(rf"(?:{_TYPES})<[^<>]*>", "T", text)
    text = re.sub(r"\[[^\[\]]*\]", "[...]", text)
    text = re.sub(r"^[\w.]+: ", "OP: ", text)
    text = re.sub(r"(results? of) [\w.]+$", r"\1 OP", text)
    text = re.sub(r"\([CI]\d+(?:, C\d+)*\) ", "", text)
    text = re.sub(r"@[\w.:]+", "@f", text)
    text = re.sub(r"%\w+|#\w[\w.]*", "#", text)
    text = re.sub(r"\b(?:u?i|bf|f)\d\w*", "E", text)
    return re.sub(r"-?\d+(?:\.\d+)?", "N", text)
