"""The loader of object files beside LLVM's, and with files that are damaged or of another processor."""

import ctypes
import platform
import random
import struct
import subprocess
import sys
import textwrap
import threading

import pytest

from nimblehlo.kernels.compiling import object_code, object_loader
from nimblehlo.kernels.compiling.object_loader import UnsupportedObject, load_object, relocated, stub

X86_64, AARCH64 = 62, 183

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
    reason="the loader is for Linux on x86-64 and AArch64",
)

TEXT = """
@table = internal constant [4 x double] [double 1.0, double 2.0, double 3.0, double 4.0], align 64
@count = internal global i64 5, align 8
@zeroed = internal global [1024 x i64] zeroinitializer, align 64
@shared = common global i64 0, align 8
@pointers = internal constant [2 x ptr] [ptr @first, ptr @second]
@outside = external global i64

declare double @fma(double, double, double)
declare ptr @memcpy(ptr, ptr, i64)
declare i64 @given(i64)

define internal i64 @first(i64 %x) noinline {
  %y = add i64 %x, 1000
  ret i64 %y
}

define internal i64 @second(i64 %x) noinline {
  %y = mul i64 %x, 3
  ret i64 %y
}

define double @constants(i64 %i) {
  %address = getelementptr double, ptr @table, i64 %i
  %value = load double, ptr %address
  %result = fadd double %value, 0x3FE3333333333333
  ret double %result
}

define i64 @counted() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  %cell = getelementptr i64, ptr @zeroed, i64 %new
  %before = load i64, ptr %cell
  store i64 %new, ptr %cell
  %common = load volatile i64, ptr @shared
  store volatile i64 %new, ptr @shared
  %sum = add i64 %before, %common
  %result = add i64 %sum, %new
  ret i64 %result
}

define i64 @indirect(i64 %i, i64 %x) {
  %address = getelementptr ptr, ptr @pointers, i64 %i
  %function = load ptr, ptr %address
  %result = call i64 %function(i64 %x)
  ret i64 %result
}

define double @library(double %x) {
  %copy = alloca double
  %source = alloca double
  store volatile double %x, ptr %source
  %ignored = call ptr @memcpy(ptr %copy, ptr %source, i64 8)
  %value = load volatile double, ptr %copy
  %result = call double @fma(double %value, double %value, double 1.0)
  ret double %result
}

define i64 @far(i64 %x) {
  %near = load i64, ptr @outside
  %y = call i64 @given(i64 %x)
  %result = add i64 %near, %y
  ret i64 %result
}
"""
NAMES = ("constants", "counted", "indirect", "library", "far")

given = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x + 7)
outside = ctypes.c_int64(11)
SYMBOLS = {
    "given": ctypes.cast(given, ctypes.c_void_p).value or 0,
    "outside": ctypes.addressof(outside),
}


def compiled(text, level=3, triple=None):
    """The object file of a text in LLVM IR."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text, llvm.create_context())
    if triple is None:
        return object_code.target_machine("", "", level).emit_object(module)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    module.triple = triple
    options = {"opt": level, "reloc": "pic", "codemodel": "small"}
    return target.create_target_machine(**options).emit_object(module)


@pytest.fixture(scope="module", params=[0, 3])
def code(request):
    return compiled(TEXT, request.param)


def results_of(addresses):
    """What the functions of TEXT return."""
    i64, f64 = ctypes.c_int64, ctypes.c_double
    types = [(f64, i64), (i64,), (i64, i64, i64), (f64, f64), (i64, i64)]
    constants, counted, indirect, library, far = [
        ctypes.CFUNCTYPE(*type)(address) for type, address in zip(types, addresses, strict=True)
    ]
    return (
        [constants(i) for i in range(4)],
        [counted() for _ in range(5)],
        [indirect(i, 8) for i in range(2)],
        library(1.5),
        far(2),
    )


EXPECTED = ([1.6, 2.6, 3.6, 4.6], [6, 13, 15, 17, 19], [1008, 24], 3.25, 20)


def test_code_returns_what_it_returns_when_llvm_loads_it(code):
    assert results_of(load_object(code, NAMES, SYMBOLS)) == EXPECTED
    assert results_of(object_code._link(code, NAMES, SYMBOLS)) == EXPECTED


def test_data_belong_to_one_loaded_file(code):
    first, second = (load_object(code, NAMES, SYMBOLS) for _ in range(2))
    assert not set(first) & set(second)
    assert results_of(first) == results_of(second) == EXPECTED


def test_many_files_share_mappings_and_are_loaded_by_threads_at_once(code):
    def executable_mappings():
        """Those of no file."""
        with open("/proc/self/maps") as file:
            return sum(line.split()[1] == "r-xp" and len(line.split()) == 5 for line in file)

    addresses, before = [], executable_mappings()

    def load():
        addresses.extend(load_object(code, NAMES, SYMBOLS) for _ in range(25))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # The code and the data of 100 files fit into the rest of an arena and a new one.
    assert executable_mappings() - before <= 1
    assert len({address for one in addresses for address in one}) == 500
    assert all(results_of(one) == EXPECTED for one in addresses)


def test_no_page_is_writable_and_executable(code):
    (address,) = load_object(code, NAMES[:1], SYMBOLS)
    with open("/proc/self/maps") as file:
        lines = [line.split()[:2] for line in file]
    ranges = [(*[int(end, 16) for end in one.split("-")], access) for one, access in lines]
    (access,) = [access for start, end, access in ranges if start <= address < end]
    assert access == "r-xp"


def test_symbols_that_are_not_there_are_named(code):
    with pytest.raises(UnsupportedObject, match="given"):
        load_object(code, NAMES, {"outside": SYMBOLS["outside"]})
    with pytest.raises(UnsupportedObject, match="nothing"):
        load_object(code, ["nothing"], SYMBOLS)
    with pytest.raises(UnsupportedObject, match="does not define first"):
        load_object(code, ["first"], SYMBOLS)


def test_llvm_loads_what_the_loader_refuses(code, monkeypatch):
    def refuse(*arguments):
        raise UnsupportedObject("unknown")

    monkeypatch.setattr(object_code, "load_object", refuse)
    assert results_of(object_code.load(code, NAMES, SYMBOLS)) == EXPECTED


def test_files_that_are_cut_off_are_refused(code):
    for size in (0, 1, 63, 64, *range(65, len(code), 97)):
        with pytest.raises(UnsupportedObject):
            load_object(code[:size], NAMES, SYMBOLS)


def test_damaged_files_are_refused_or_loaded(code):
    """Nothing outside of the file is read, and nothing outside of its memory written."""
    generator, refused = random.Random(59), 0
    header_and_tables = [*range(64), *range(len(code) - 64 * 12, len(code))]
    for _ in range(600):
        damaged = bytearray(code)
        for _ in range(generator.choice((1, 1, 4))):
            position = generator.choice((generator.randrange(len(code)), generator.choice(header_and_tables)))
            damaged[position] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
        try:
            load_object(bytes(damaged), NAMES, SYMBOLS)
        except UnsupportedObject:
            refused += 1
    assert refused > 150


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kind", "@x = thread_local global i64 1\n"),
        ("kind", "define void @f() { ret void }\n@a = alias void (), ptr @f\n@i = ifunc void (), ptr @r\n"
         "define ptr @r() { ret ptr @f }\n"),
        ("kind", "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
         "[{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]\ndefine void @f() { ret void }\n"),
        ("alignment", "@x = global i64 1, align 65536\n"),
    ],
)  # fmt: skip
def test_files_with_what_the_loader_does_not_know_are_refused(name, text):
    with pytest.raises(UnsupportedObject, match=name):
        load_object(compiled(text), [], {})


def test_a_process_without_address_space_raises_a_memory_error(code, tmp_path):
    (tmp_path / "code.o").write_bytes(code)
    script = f"""
        import resource, sys
        from nimblehlo.kernels.compiling.object_loader import load_object
        code = open({str(tmp_path / "code.o")!r}, "rb").read()
        pages = int(open("/proc/self/statm").read().split()[0])
        limit = pages * resource.getpagesize() + (1 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            load_object(code, [], {{"given": 1, "outside": 1}})
        except MemoryError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(len(load_object(code, ["constants"], {{"given": 1, "outside": 1}})))
    """
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120
    )
    assert child.stdout.splitlines() == ["no address space for compiled code", "1"], child.stderr


PLACE = 0x7F0000001004


def instruction(number):
    return struct.pack("<I", number)


@pytest.mark.parametrize(
    ("type", "before", "value", "after"),
    [
        pytest.param(283, 0x94000000, PLACE + 8, 0x94000002, id="CALL26"),
        pytest.param(283, 0x94000000, PLACE - 4, 0x97FFFFFF, id="CALL26 backwards"),
        pytest.param(282, 0x14000000, PLACE + (1 << 27) - 4, 0x15FFFFFF, id="JUMP26"),
        pytest.param(280, 0x54000000, PLACE + 12, 0x54000060, id="CONDBR19"),
        pytest.param(279, 0x36000000, PLACE - 8, 0x3607FFC0, id="TSTBR14"),
        pytest.param(274, 0x10000000, PLACE + 5, 0x30000020, id="ADR_PREL_LO21"),
        pytest.param(275, 0x90000000, 0x7F0000003FFF, 0xD0000000, id="ADR_PREL_PG_HI21"),
        pytest.param(275, 0x90000001, 0x7F0000000000, 0xF0FFFFE1, id="ADR_PREL_PG_HI21 backwards"),
        pytest.param(311, 0x90000000, 0x7F0000006010, 0xB0000020, id="ADR_GOT_PAGE"),
        pytest.param(277, 0x91000000, 0x7F0000003ABC, 0x912AF000, id="ADD_ABS_LO12_NC"),
        pytest.param(278, 0x39400000, 0x7F0000003ABD, 0x396AF400, id="LDST8_ABS_LO12_NC"),
        pytest.param(284, 0x79400000, 0x7F0000003ABC, 0x79557800, id="LDST16_ABS_LO12_NC"),
        pytest.param(285, 0xB9400000, 0x7F0000003ABC, 0xB94ABC00, id="LDST32_ABS_LO12_NC"),
        pytest.param(286, 0xF9400000, 0x7F0000003AB8, 0xF9455C00, id="LDST64_ABS_LO12_NC"),
        pytest.param(299, 0x3DC00000, 0x7F0000003AB0, 0x3DC2AC00, id="LDST128_ABS_LO12_NC"),
        pytest.param(312, 0xF9400000, 0x7F0000003AB8, 0xF9455C00, id="LD64_GOT_LO12_NC"),
        pytest.param(261, 0, PLACE - 2, 0xFFFFFFFE, id="PREL32"),
    ],
)
def test_instructions_of_aarch64_are_relocated(type, before, value, after):
    assert relocated(AARCH64, type, instruction(before), PLACE, value) == instruction(after)
    # Bits from another relocation give way.
    once = relocated(AARCH64, type, instruction(before), PLACE, value)
    assert relocated(AARCH64, type, once, PLACE, value) == instruction(after)


def test_addresses_of_64_bits_are_relocated():
    assert relocated(AARCH64, 257, bytes(8), PLACE, 1 << 63) == struct.pack("<Q", 1 << 63)
    assert relocated(AARCH64, 260, bytes(8), PLACE, PLACE - 1) == b"\xff" * 8
    assert relocated(X86_64, 1, bytes(8), PLACE, 1 << 63) == struct.pack("<Q", 1 << 63)
    assert relocated(X86_64, 24, bytes(8), PLACE, PLACE - 1) == b"\xff" * 8
    assert relocated(X86_64, 2, bytes(4), PLACE, PLACE - 4) == b"\xfc\xff\xff\xff"


@pytest.mark.parametrize(
    ("machine", "type", "value"),
    [
        (X86_64, 2, PLACE + (1 << 31)),
        (X86_64, 4, PLACE - (1 << 31) - 1),
        (AARCH64, 283, PLACE + (1 << 27)),
        (AARCH64, 283, PLACE + 2),
        (AARCH64, 280, PLACE + (1 << 20)),
        (AARCH64, 275, PLACE + (1 << 33)),
        (AARCH64, 286, PLACE),
        (AARCH64, 261, PLACE + (1 << 31)),
        (AARCH64, 512, PLACE),
    ],
)
def test_what_does_not_fit_is_refused(machine, type, value):
    with pytest.raises(UnsupportedObject):
        relocated(machine, type, bytes(4), PLACE, value)


def test_stubs_jump_to_the_address_in_an_entry():
    assert stub(X86_64, PLACE, PLACE - 8)[:6] == b"\xff\x25" + struct.pack("<i", -14)
    words = struct.unpack("<3I", stub(AARCH64, PLACE, 0x7F0000002AB8)[:12])
    assert words == (0xB0000010, 0xF9455E10, 0xD61F0200)
    with pytest.raises(UnsupportedObject):
        stub(X86_64, PLACE, PLACE + (1 << 32))


def relocation_types(code):
    """The types of the relocations of an object file, without those of .eh_frame."""
    (first,) = struct.unpack_from("<Q", code, 40)
    size, count, names = struct.unpack_from("<HHH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, first + i * size) for i in range(count)]
    types = set()
    for section in sections:
        kind, offset, size, target = section[1], section[4], section[5], section[7]
        name = sections[names][4] + sections[target][0] if kind == 4 else 0
        if kind == 4 and not code[name:].startswith(b".eh_frame\0"):
            types |= {struct.unpack_from("<I", code, offset + 8 + i)[0] for i in range(0, size, 24)}
    return types


def test_all_relocations_that_llvm_emits_for_aarch64_are_known():
    types = set().union(*(relocation_types(compiled(TEXT, level, "aarch64-linux-gnu")) for level in (0, 3)))
    assert {257, 275, 283, 311, 312} <= types
    for type in types:
        # An address that every alignment and every distance allows.
        relocated(AARCH64, type, bytes(8 if type in (257, 260) else 4), 0x7F0000001000, 0x7F0000002000)


def test_other_processors_are_refused():
    other = "aarch64-linux-gnu" if platform.machine() == "x86_64" else "x86_64-linux-gnu"
    with pytest.raises(UnsupportedObject, match="for this processor"):
        load_object(compiled(TEXT, 0, other), [], SYMBOLS)


def test_texts_are_no_bytes():
    with pytest.raises(TypeError):
        object_loader.load_object("code", [], {})
