"""Calls and compilations in great numbers, from many threads, and ends of processes in the middle of them.

    JAX_PLATFORMS=nimblehlo,cpu python -m tests.jax.pjrt.stress memory [--compiles 10000] [--calls 1000000]
    JAX_PLATFORMS=nimblehlo,cpu python -m tests.jax.pjrt.stress threads [--threads 8] [--calls 10000]
    JAX_PLATFORMS=nimblehlo,cpu python -m tests.jax.pjrt.stress compile [--threads 64]
    JAX_PLATFORMS=nimblehlo,cpu python -m tests.jax.pjrt.stress interrupt
    JAX_PLATFORMS=nimblehlo,cpu python -m tests.jax.pjrt.stress exit
    JAX_PLATFORMS=nimblehlo,cpu python -m tests.jax.pjrt.stress fork

``memory`` prints the resident bytes along the way and fails if they go on growing. ``compile`` compiles a
program on each thread, all at the same time. ``interrupt`` sends SIGINT while calls run. ``exit`` ends the
interpreter while threads compile and call; ``fork`` goes on in a child.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from tests.support.threads import on_threads

MAX_GROWTH_BYTES = 24 << 20
"""Resident bytes by which the second half of a campaign may exceed the first: caches of programs."""


def resident_bytes() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def repeat(what: str, count: int, action: Callable[[int], object]) -> None:
    """Repeat an action, and fail if memory grows in the second half."""
    halfway = 0
    for index in range(count):
        action(index)
        if index == count // 2:
            halfway = resident_bytes()
        if (index + 1) % max(1, count // 10) == 0:
            print(f"{what}: {index + 1}, {resident_bytes() >> 20} MiB", flush=True)
    growth = resident_bytes() - halfway
    assert growth < MAX_GROWTH_BYTES, f"{what}: {growth >> 20} MiB more after the second half"


def memory(compiles: int, calls: int) -> None:
    """Memory stays flat while programs are compiled and called."""

    def compile_one(index: int) -> None:
        # A constant of its own makes each program another one; JAX's caches let it go.
        jax.jit(lambda x: x + index).lower(np.float32(0)).compile()
        if index % 50 == 49:
            jax.clear_caches()

    function = jax.jit(lambda x: (x + 1, x * 2), donate_argnums=0)
    state = [jnp.ones(100)]

    def call(index: int) -> None:
        state[0] = function(state[0])[0]

    repeat("compilations", compiles, compile_one)
    repeat("calls", calls, call)
    assert np.asarray(state[0])[0] == np.float32(calls + 1)


def threads(count: int, calls: int) -> None:
    """Threads call programs at the same time, small ones and ones that run on the worker."""
    small = jax.jit(lambda x: x * 2 + 1)
    large = jax.jit(lambda x: (x @ x).max())

    def work(number: int) -> None:
        x, square = jnp.full(3, float(number)), jnp.full((700, 700), float(number))
        for index in range(calls):
            np.testing.assert_array_equal(small(x), np.full(3, 2 * number + 1))
            if index % 100 == 0:
                assert float(large(square)) == 700.0 * number**2
        compiled = jax.jit(lambda x: x - number).lower(x).compile()
        np.testing.assert_array_equal(compiled(x), np.zeros(3))

    on_threads(count, work)


def compile_at_once(count: int) -> None:
    """Threads compile programs of their own at the same time, and call them."""
    barrier = threading.Barrier(count)

    def work(number: int) -> None:
        def step(carry: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            return carry + number * x, jnp.sort(carry)

        lowered = jax.jit(lambda x: jax.lax.scan(step, x[0], x)).lower(np.ones((4, 3), np.float32))
        barrier.wait()
        last, before = lowered.compile()(np.ones((4, 3), np.float32))
        np.testing.assert_array_equal(last, np.full(3, 1 + 4 * number))
        np.testing.assert_array_equal(before[3], np.full(3, 1 + 3 * number))

    on_threads(count, work)


def interrupt() -> None:
    """A SIGINT becomes a KeyboardInterrupt, whether small calls or a long one run, and calls go on."""
    small = jax.jit(lambda x: x + 1)
    long = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, x: x @ x / 600, x))
    one, square = jnp.ones(3), jnp.ones((600, 600))
    long(square).block_until_ready()

    def call_small() -> None:
        while True:
            small(one)

    def wait_for_long() -> None:
        while True:
            long(square).block_until_ready()

    for work in [call_small] * 10 + [wait_for_long] * 3:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        with contextlib.suppress(KeyboardInterrupt):
            timer.start()
            work()
        timer.join()
        np.testing.assert_array_equal(small(one), np.full(3, 2))
    assert np.asarray(long(square))[0, 0] == 1


def end_in_the_middle() -> None:
    """The interpreter ends while threads compile and call, and while tasks wait."""
    square = jnp.ones((600, 600))
    large = jax.jit(lambda x: x @ x / 600)

    def work(number: int) -> None:
        for index in range(1_000_000):
            jax.jit(lambda x: x * number + index)(jnp.ones(3))  # noqa: B023
            large(square)

    for number in range(4):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    for _ in range(20):
        square = large(square)
    jax.debug.print("the last words: {}", square[0, 0])
    time.sleep(0.3)


def fork() -> None:
    """A child of a fork goes on with arrays and programs that were there, in the presence of a worker."""
    warnings.simplefilter("ignore")
    large, small = jax.jit(lambda x: x @ x / 600), jax.jit(lambda x: x + 3)
    square = large(jnp.ones((600, 600))).block_until_ready()
    number = small(1.0)
    child = os.fork()
    if child == 0:
        # jaxlib compiles on threads that a child does not have.
        ok = np.asarray(large(large(square)))[0, 0] == 1 and np.asarray(small(number)) == 7
        os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert np.asarray(large(square))[0, 0] == 1


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("memory", "threads", "compile", "interrupt", "exit", "fork"))
    parser.add_argument("--compiles", type=int, default=10_000)
    parser.add_argument("--calls", type=int)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.what == "memory":
        memory(arguments.compiles, 1_000_000 if arguments.calls is None else arguments.calls)
    elif arguments.what == "threads":
        threads(arguments.threads or 8, 10_000 if arguments.calls is None else arguments.calls)
    elif arguments.what == "compile":
        compile_at_once(arguments.threads or 64)
    elif arguments.what == "interrupt":
        interrupt()
    elif arguments.what == "exit":
        end_in_the_middle()
    else:
        fork()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
