"""The pause of garbage collection."""

from __future__ import annotations

import gc
import threading

from nimblehlo.kernels.launch.garbage import gc_paused
from tests.support.forks import holds_in_child, needs_fork


@needs_fork
def test_a_child_collects_garbage_although_another_thread_has_paused_that() -> None:
    has_paused, may_end = threading.Event(), threading.Event()

    @gc_paused
    def pause() -> None:
        has_paused.set()
        assert may_end.wait(60)

    thread = threading.Thread(target=pause)
    thread.start()
    assert has_paused.wait(60)
    try:
        assert not gc.isenabled() and holds_in_child(gc.isenabled)
    finally:
        may_end.set()
        thread.join()
    assert gc.isenabled()


@needs_fork
def test_a_child_of_the_thread_that_has_paused_it_resumes_with_its_end() -> None:
    fork = gc_paused(lambda: holds_in_child(lambda: not gc.isenabled()))
    assert fork() and gc.isenabled()
