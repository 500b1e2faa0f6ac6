from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..types import Array

class DLPackTensor:
    array: Array
    def __init__(self, array: Array) -> None: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...

def to_dlpack(array: Any) -> DLPackTensor: ...

class TensorExchange:
    def __init__(
        self, types: Sequence[type], is_lazy: Callable[[Any], bool], as_array: Callable[[Any], Any]
    ) -> None: ...
    def arrays(self, values: Iterable[Any]) -> list[Any]: ...
    def tensors(self, arrays: Iterable[Array]) -> list[Any]: ...
