from typing import Any

from .plan import Plan

class Runner:
    def __init__(self, plan: Plan) -> None: ...
    def run(self, arguments: tuple[Any, ...]) -> list[Any]: ...
