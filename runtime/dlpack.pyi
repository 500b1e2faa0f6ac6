from typing import Any

import numpy as np

class DLPackTensor:
    array: np.ndarray[Any, Any]
    def __init__(self, array: np.ndarray[Any, Any]) -> None: ...
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
