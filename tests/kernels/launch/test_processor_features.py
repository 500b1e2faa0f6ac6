"""The processor's features beside LLVM's answers."""

import pytest

from nimblehlo.kernels.launch import processor, processor_features, processor_registers

HAS_REGISTERS = processor_registers.has_registers()


def test_features_are_those_that_llvm_finds():
    import llvmlite.binding as llvm

    expected = dict(llvm.get_host_cpu_features())
    features = processor_features.features()
    assert features == {name: bool(expected.get(name)) for name in features}
    if HAS_REGISTERS:
        assert {name for names in processor.LEVELS.values() for name in names} <= set(features)


@pytest.mark.skipif(not HAS_REGISTERS, reason="no x86-64")
@pytest.mark.parametrize(
    ("saved", "missing"), [(0x2, ("avx", "fma", "avx512f")), (0x7, ("avx512f",)), (0xE7, ())]
)
def test_registers_that_the_system_does_not_save_are_not_used(monkeypatch, saved, missing):
    monkeypatch.setattr(processor_registers, "enabled_state", lambda: saved)
    monkeypatch.setattr(processor_registers, "leaf", lambda number, subleaf: (0xFFFFFFFF,) * 4)
    features = processor_features.features.__wrapped__()
    assert {name for name in ("avx", "fma", "avx512f") if not features[name]} == set(missing)
    assert features["sse3"]


@pytest.mark.skipif(not HAS_REGISTERS, reason="no x86-64")
def test_the_identity_tells_features_apart(monkeypatch):
    leaf, identities = processor_registers.leaf, {processor_features.identity.__wrapped__()}
    # The bits of VNNI, which this package does not ask about, of the model, and of the processor's number.
    for number, register, bit in ((7, 2, 11), (1, 0, 4), (1, 1, 24)):

        def changed(one, subleaf, number=number, register=register, bit=bit):
            registers = list(leaf(one, subleaf))
            registers[register] ^= (one == number and subleaf == 0) << bit
            return tuple(registers)

        monkeypatch.setattr(processor_registers, "leaf", changed)
        identities.add(processor_features.identity.__wrapped__())
    assert len(identities) == 3


def test_a_level_identifies_itself(monkeypatch):
    monkeypatch.setattr(processor, "level", lambda: "x86-64-v3")
    assert processor.identity() == "x86-64-v3"
    monkeypatch.setattr(processor, "level", lambda: processor.NATIVE)
    assert processor.identity() == processor_features.identity()
