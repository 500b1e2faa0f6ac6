"""Limits of control groups, read from a folder that looks like a machine's root."""

from __future__ import annotations

from pathlib import Path

import pytest

from nimblehlo.kernels.launch import free_memory, threads
from nimblehlo.kernels.launch.control_groups import MemoryLimit, memory_limits, processor_quota

V1_CPU = "33 31 0:30 {mounted} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
V1_MEMORY = "34 31 0:32 {mounted} /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
V2 = "35 31 0:33 {mounted} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
OTHER = "24 29 0:22 / /proc rw,nosuid - proc proc rw\n25 29 254:0 / / rw\nmalformed\n\n"


def machine(root: Path, mounts: str, groups: str, files: dict[str, str]) -> Path:
    """A root folder with these mounts, groups of the process, and files below `sys/fs/cgroup`."""
    texts = {"proc/self/mountinfo": OTHER + mounts, "proc/self/cgroup": groups}
    texts |= {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_control_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert processor_quota(tmp_path) is None
    assert memory_limits(root=tmp_path) == []
    assert free_memory.limits(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("max 100000", None),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("50000 100000", 1),
        ("1000 1000000", 1),
        ("100001 100000", 2),
        ("", None),
        ("200000", None),
        ("200000 0", None),
        ("-1 100000", None),
        ("many 100000", None),
    ],
)
def test_quotas_of_version_2_are_rounded_up(tmp_path: Path, text: str, quota: int | None) -> None:
    root = machine(tmp_path, V2.format(mounted="/"), "0::/app\n", {"app/cpu.max": text + "\n"})
    assert processor_quota(root) == quota


@pytest.mark.parametrize(
    ("time", "period", "quota"),
    [
        ("-1", "100000", None),
        ("300000", "100000", 3),
        ("250000", "100000", 3),
        ("1000", "0", None),
        ("x", "1", None),
    ],
)
def test_quotas_of_version_1(tmp_path: Path, time: str, period: str, quota: int | None) -> None:
    files = {"cpu,cpuacct/a/cpu.cfs_quota_us": time, "cpu,cpuacct/a/cpu.cfs_period_us": period}
    root = machine(tmp_path, V1_CPU.format(mounted="/"), "3:cpu,cpuacct:/a\n1:name=systemd:/b\n", files)
    assert processor_quota(root) == quota


def test_the_smallest_quota_of_all_groups_above_counts(tmp_path: Path) -> None:
    files = {
        "cpu.max": "max 100000",
        "a/cpu.max": "400000 100000",
        "a/b/cpu.max": "max 100000",
        "a/b/c/x": "",
    }
    root = machine(tmp_path, V2.format(mounted="/"), "0::/a/b/c\n", files)
    assert processor_quota(root) == 4
    (root / "sys/fs/cgroup/a/b/c/cpu.max").write_text("500000 100000")
    assert processor_quota(root) == 4
    (root / "sys/fs/cgroup/a/b/c/cpu.max").write_text("300000 100000")
    assert processor_quota(root) == 3


def test_a_machine_may_use_both_versions(tmp_path: Path) -> None:
    """As systemd's hybrid layout: version 2 is mounted, and version 1 has the controllers."""
    mounts = V2.format(mounted="/").replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ") + V1_CPU.format(
        mounted="/"
    )
    files = {
        "cpu,cpuacct/cpu.cfs_quota_us": "100000",
        "cpu,cpuacct/cpu.cfs_period_us": "100000",
        "unified/x": "",
    }
    assert processor_quota(machine(tmp_path, mounts, "3:cpu,cpuacct:/\n0::/\n", files)) == 1


@pytest.mark.parametrize(
    ("mounted", "path"),
    [
        ("/docker/1a2b", "/docker/1a2b"),  # the container's group, in the namespace of the machine
        ("/docker/1a2b", "/"),  # of a namespace, seen through a mount from outside
        ("/", "/"),
        ("/", "/../other"),  # outside of the namespace
        ("/docker/1a2b", "/docker/1a2b3c"),
        ("/", "/not/mounted/here"),
    ],
)
def test_containers_see_their_own_group_where_it_is_mounted(tmp_path: Path, mounted: str, path: str) -> None:
    root = machine(tmp_path, V2.format(mounted=mounted), f"0::{path}\n", {"cpu.max": "200000 100000"})
    assert processor_quota(root) == 2


def test_a_group_below_a_mounted_group(tmp_path: Path) -> None:
    files = {"x:y/cpu.max": "100000 100000", "cpu.max": "300000 100000"}
    root = machine(tmp_path, V2.format(mounted="/docker/1a"), "0::/docker/1a/x:y\n", files)
    assert processor_quota(root) == 1


def test_names_with_spaces_are_read(tmp_path: Path) -> None:
    mount = V2.format(mounted="/").replace("/sys/fs/cgroup", "/sys/fs/cgroup/my\\040groups")
    root = machine(tmp_path, mount, "0::/\n", {"my groups/cpu.max": "200000 100000"})
    assert processor_quota(root) == 2


def test_memory_of_version_2(tmp_path: Path) -> None:
    files = {
        "memory.max": "max",
        "memory.current": "900",
        "a/memory.max": "1000",
        "a/memory.current": "700",
        "a/memory.stat": "anon 500\nfile 200\ninactive_file 80\nactive_file 20\nactive_anon 400\n",
    }
    root = machine(tmp_path, V2.format(mounted="/"), "0::/a\n", files)
    assert memory_limits(root=root) == [MemoryLimit(400, 1000, "the control group /a")]
    assert memory_limits(50, root) == [MemoryLimit(450, 1000, "the control group /a")]
    (root / "sys/fs/cgroup/a/memory.swap.max").write_text("30")
    (root / "sys/fs/cgroup/a/memory.swap.current").write_text("10")
    assert memory_limits(50, root) == [MemoryLimit(420, 1000, "the control group /a")]


def test_memory_of_version_1(tmp_path: Path) -> None:
    files = {
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "memory/memory.usage_in_bytes": "5000",
        "memory/a/memory.limit_in_bytes": "1000",
        "memory/a/memory.usage_in_bytes": "1200",
        "memory/a/memory.stat": "inactive_file 1\ntotal_inactive_file 100\ntotal_active_file 0\n",
    }
    root = machine(tmp_path, V1_MEMORY.format(mounted="/"), "4:memory:/a\n", files)
    assert memory_limits(root=root) == [MemoryLimit(0, 1000, "the control group /a")]
    folder = root / "sys/fs/cgroup/memory/a"
    (folder / "memory.usage_in_bytes").write_text("600")
    (folder / "memory.memsw.limit_in_bytes").write_text("1000")
    (folder / "memory.memsw.usage_in_bytes").write_text("600")
    assert memory_limits(10**6, root) == [MemoryLimit(500, 1000, "the control group /a")]
    (folder / "memory.memsw.limit_in_bytes").write_text("1500")
    assert memory_limits(10**6, root) == [MemoryLimit(1000, 1000, "the control group /a")]


def test_free_memory_names_the_smallest_limit(tmp_path: Path) -> None:
    files = {"memory.max": str(1 << 30), "memory.current": str(1 << 29)}
    root = machine(tmp_path, V2.format(mounted="/"), "0::/\n", files)
    (root / "proc/meminfo").write_text("MemTotal: 4194304 kB\nMemAvailable:  2097152 kB\nSwapFree: 0 kB\n")
    limits = free_memory.limits(root)
    assert MemoryLimit(2 << 30, 4 << 30, "the machine") in limits
    assert min(limits) == MemoryLimit(1 << 29, 1 << 30, "the control group /")


def test_resource_limits_leave_what_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/statm").write_text("100 50 10 5 0 40 0\n")
    page = resource.getpagesize()
    sizes = {resource.RLIMIT_AS: 1000 * page, resource.RLIMIT_DATA: 60 * page}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (sizes[kind], -1))
    found = free_memory.limits(tmp_path)
    assert [(limit.left, limit.total) for limit in found] == [
        (900 * page, 1000 * page),
        (20 * page, 60 * page),
    ]
    assert [limit.source for limit in found] == ["RLIMIT_AS (ulimit -v)", "RLIMIT_DATA (ulimit -d)"]
    sizes[resource.RLIMIT_AS] = resource.RLIM_INFINITY
    assert len(free_memory.limits(tmp_path)) == 1


def test_threads_follow_the_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    available_threads = threads.available_threads.__wrapped__
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "usable_processors", lambda: 8)
    for quota, count in ((None, 8), (3, 3), (20, 8), (1, 1)):
        monkeypatch.setattr(threads, "processor_quota", lambda quota=quota: quota)
        assert available_threads() == count
    monkeypatch.setenv("NUMBA_NUM_THREADS", "5")
    assert available_threads() == 5
