"""Convolutions as launches, which native loops call without objects of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .convolution import Convolution, Writer, WriterByFactors, Writers
from .convolution_tasks import ALWAYS, CachedByStrides, LaunchList
from .winograd import WinogradWriter

if TYPE_CHECKING:
    from ..launch.native import NativeFunction

__all__ = ["launched_convolution"]

_NOT_SET, _SET = 0, 1
"""The flag of a call for which a launch waits, and which an earlier launch has set; others wait for none."""


def launched_convolution(
    convolve: Convolution,
    arrays: Sequence[np.ndarray],
    threads: int | None = None,
    convolve_finite: Convolution | None = None,
) -> NativeFunction | None:
    """A convolution as a `NativeFunction` of C-contiguous arrays; None if it copies operands or its result.

    Args:
        convolve: what `prepare` of `convolution` or `winograd` returned for operands of one element type.
        arrays: with the layouts of lhs, rhs and the result; their elements are not read.
        threads: maximum number of threads; None: all.
        convolve_finite: what `prepare` of `depthwise` returned, for factors that are finite; None: `convolve`
            serves them too.
    """
    lhs, rhs, result = arrays
    writers = [_writer(one, lhs, rhs) for one in (convolve, convolve_finite) if one is not None]
    launches = LaunchList(result.nbytes, threads)
    if None in writers or not _add_all(launches, writers, lhs, rhs):
        return None
    return launches.function([lhs.nbytes, rhs.nbytes], (result.shape, result.dtype))


def _writer(convolve: Convolution, lhs: np.ndarray, rhs: np.ndarray) -> Writer | None:
    return convolve.writer(lhs, rhs) if isinstance(convolve, CachedByStrides) else None


def _add_all(launches: LaunchList, writers: list[Any], lhs: np.ndarray, rhs: np.ndarray) -> bool:
    """Add the launches of a writer, or of one and of another for finite factors; whether that is possible."""
    direct, *finite = writers
    if isinstance(direct, WinogradWriter):
        return _add_winograd(launches, direct, lhs, rhs)
    if not finite and not isinstance(direct, WriterByFactors):
        return _add(launches, direct, ALWAYS)
    launches.add_check(rhs)
    others = direct.of(False) if isinstance(direct, WriterByFactors) else direct
    return _add(launches, finite[0] if finite else direct.of(True), _SET) and _add(launches, others, _NOT_SET)


def _add(launches: LaunchList, writer: Any, wanted: int) -> bool:
    """Add the launches of a writer, which wait for the flag; whether it can be launched."""
    if not isinstance(writer, Writers):
        return launches.add_writer(writer, wanted)
    if writer.empty:
        launches.add_clear(wanted)
    return all(launches.add_writer(one, wanted) for one in writer.writers)


def _add_winograd(launches: LaunchList, writer: WinogradWriter, lhs: np.ndarray, rhs: np.ndarray) -> bool:
    """Add the launches of Winograd's algorithm, and of the direct one for results that are not finite."""
    direct = _writer(writer.direct(), lhs, rhs)
    if direct is None or not launches.add_writer(writer.launch, ALWAYS):
        return False
    launches.add_overflow_check()
    is_launched = launches.add_writer(direct, _SET, writes_other=True)
    launches.add_replacement()
    return is_launched
