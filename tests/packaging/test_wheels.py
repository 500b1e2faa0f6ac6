"""What tools/wheels.py adds to setuptools and auditwheel: equal bytes of two builds."""

import io
import tarfile
from pathlib import Path

from tools.wheels import normalize_sdist


def archive(path: Path, names: list[str], seconds: int, owner: str) -> Path:
    """Write an archive of files in an order, with a time and an owner."""
    with tarfile.open(path, "w:gz") as target:
        for name in names:
            member = tarfile.TarInfo(name)
            member.mtime, member.uname, member.uid = seconds, owner, len(owner)
            member.mode = 0o775 if name.endswith(".sh") else 0o640
            content = f"content of {name}".encode()
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    return path


def test_source_distributions_of_equal_files_are_equal(tmp_path: Path) -> None:
    first = archive(tmp_path / "first.tar.gz", ["p/b.sh", "p/a.py"], 1_000_000, "one")
    second = archive(tmp_path / "second.tar.gz", ["p/a.py", "p/b.sh"], 2_000_000, "another")
    assert first.read_bytes() != second.read_bytes()
    for path in (first, second):
        normalize_sdist(path, 1_500_000)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as files:
        members = files.getmembers()
        assert [(member.name, member.mode, member.mtime) for member in members] == [
            ("p/a.py", 0o644, 1_500_000),
            ("p/b.sh", 0o755, 1_500_000),
        ]
        content = files.extractfile("p/a.py")
        assert content and content.read() == b"content of p/a.py"
