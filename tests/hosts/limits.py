"""Hosts with few processors, or with little memory."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from .host import Failed, Host, Skipped, control_group, expect, expected, line

QUOTAS = (("50000", 1), ("100000", 1), ("150000", 2), ("200000", 2))
"""Microseconds of processor time in each 100 ms, and how many threads have so much."""


RESOURCE_LIMITS = {"-v": (64, 192, 256, 320, 512, 1024, 4096), "-d": (192, 256, 320, 512, 1024, 4096)}
"""MiB by the option of `ulimit`. With 64 MiB of data Python itself fails, at random places."""


def _threads(host: Host) -> int:
    threads: int = host.workload()["threads"]
    return threads


@line
def processor_quota_of_a_control_group(folder: Path) -> Iterator[str]:
    """A quota that the kernel enforces, of a group of the version that has the controller here."""
    processors = len(os.sched_getaffinity(0))
    for microseconds, quota in QUOTAS:
        settings = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": microseconds}
        if not Path("/sys/fs/cgroup/cpu").is_dir():
            settings = {"cpu.max": f"{microseconds} 100000"}
        controller = "cpu" if len(settings) == 2 else ""
        with control_group(controller, settings) as (version, join):
            threads = _threads(Host({"NUMBA_NUM_THREADS": None}, before=join))
        expect(threads == min(processors, quota), f"a quota of {microseconds} us gives {threads} threads")
        yield f"version {version}, {microseconds} of 100000 us on {processors} processors: {threads} threads"


@line
def processor_quota_of_nested_groups(folder: Path) -> Iterator[str]:
    """Files of control groups of both versions, as in a container, in place of the kernel's."""
    kinds = {
        "version 2": (
            "cgroup2",
            "rw",
            "0::/pod/box",
            {"cpu.max": "max 100000", "pod/cpu.max": "100000 100000"},
        ),
        "version 1": (
            "cgroup",
            "rw,cpu,cpuacct",
            "4:cpu,cpuacct:/pod/box",
            {"pod/cpu.cfs_quota_us": "100000", "pod/cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "-1"},
        ),
        "version 2 without a quota": ("cgroup2", "rw", "0::/pod/box", {"pod/cpu.max": "max 100000"}),
    }
    processors = len(os.sched_getaffinity(0))
    for name, (kind, options, group, files) in kinds.items():
        root = folder / name.replace(" ", "_")
        for path, text in {**files, "pod/box/cgroup.procs": ""}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        (root / "mountinfo").write_text(f"35 31 0:33 / {root} rw - {kind} {kind} {options}\n")
        (root / "cgroup").write_text(f"{group}\n")
        mounts = [
            f"mount --bind {shlex.quote(str(root / file))} /proc/$$/{file}"
            for file in ("mountinfo", "cgroup")
        ]
        threads = _threads(Host({"NUMBA_NUM_THREADS": None}, before="\n".join(mounts)))
        expect(threads == (processors if "without" in name else 1), f"{name}: {threads} threads")
        yield f"{name}, {group}: {threads} of {processors} processors"


@line
def one_processor(folder: Path) -> Iterator[str]:
    """An affinity of one processor, with and without a request for more threads."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        for configured in (None, "8"):
            threads = _threads(Host({"NUMBA_NUM_THREADS": configured}))
            expect(threads == int(configured or 1), f"{threads} threads")
            yield f"NUMBA_NUM_THREADS={configured}: {threads} threads may be used, by one processor"
    finally:
        os.sched_setaffinity(0, allowed)


@line
def more_threads_than_processors(folder: Path) -> Iterator[str]:
    """Programs with 64 threads, in turn with the same on as many threads as there are processors."""
    from benchmarks.programs import representatives

    from .oversubscription import MAX_SLOWDOWN, SIZES, THREADS, slowdowns

    processors = len(os.sched_getaffinity(0))
    slow = []
    for program, times in slowdowns(representatives(), SIZES, 0.5, processors):
        yield (
            f"{program}: {times.ours * 1e6:.1f} us with {processors} threads, "
            f"{times.other * 1e6:.1f} us with {THREADS}, {times.ratio:.2f} times"
        )
        slow += [program] if times.ratio > MAX_SLOWDOWN else []
    expect(not slow, f"slower than {MAX_SLOWDOWN} times: {slow}")


@line
def memory_limit_of_a_control_group(folder: Path) -> Iterator[str]:
    """A limit at which the kernel would end the process."""
    limit, controller = 1 << 29, "memory"
    settings = {"memory.limit_in_bytes": str(limit)}
    if not Path("/sys/fs/cgroup/memory").is_dir():
        controller, settings = "", {"memory.max": str(limit), "memory.swap.max": "0"}
    with control_group(controller, settings) as (version, join):
        for size in (1 << 26, 1 << 30):
            end = Host(before=join).workload("memory", str(size))["end"]
            expect(("ExecutionError" in end) == (size > limit), end)
            yield f"version {version}, {limit} bytes: {end}"


def _within(option: str, megabytes: int, size: int) -> str:
    """How a call for a result of `size` bytes ends under a resource limit."""
    command = ["sh", "-c", f'ulimit {option} {megabytes << 10} && exec "$@"', "sh"]
    host = Host({"OPENBLAS_NUM_THREADS": "1"}, command=command)
    ended = host.run("-m", "tests.hosts.workload", "memory", str(size))
    if "imported" not in ended.errors:
        (*_, last) = ended.errors.strip().splitlines() or ["nothing"]
        return f"Python or NumPy does not start: status {ended.status}, {last[:100]}"
    if ended.status or "Traceback" in ended.errors:
        raise Failed(f"ulimit {option} of {megabytes} MiB: status {ended.status}, {ended.errors}")
    report = json.loads(ended.output)
    wrong = [end for end in report["digests"].values() if end != expected() and "Error: " not in end]
    expect(not wrong, f"other results: {wrong}")
    errors = [f"{mode}: {end}" for mode, end in report["digests"].items() if end != expected()]
    return f"{report['end']}; small programs: {'; '.join(errors) or 'same results'}"


@line
def memory_limit_of_resources(folder: Path) -> Iterator[str]:
    """`ulimit -v` and `ulimit -d`, from less than Python takes to more than the result takes."""
    size = 1 << 30
    for option, limits in RESOURCE_LIMITS.items():
        for megabytes in limits:
            end = _within(option, megabytes, size)
            is_error = "ExecutionError" in end or "does not start" in end
            expect(is_error == (megabytes << 20 <= size), end)
            yield f"ulimit {option} of {megabytes} MiB: {end}"


@line
def memory_of_the_machine(folder: Path) -> Iterator[str]:
    """A result larger than what the machine has left, though not than what it has."""
    from nimblehlo.kernels.launch.free_memory import limits

    machine = [limit for limit in limits() if limit.source == "the machine"]
    if not machine:
        raise Skipped("the system does not say how much memory is left")
    size = (machine[0].left + machine[0].total) // 2 & ~3
    end = Host().workload("memory", str(size))["end"]
    expect("ExecutionError" in end, end)
    yield end
