from typing import Any

MIN_SCRATCH_COUNT: int

def sort_address(dtype: Any, by_upper_half: bool = False) -> int: ...
