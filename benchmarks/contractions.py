"""Products, attention and convolutions of networks, as cases of `benchmarks.bounds`.

    python -m benchmarks.bounds --cases benchmarks/contractions.py [NAME ...]

Products have the shapes of layers (tall, wide, batched, of one row) and squares, in three element types;
attention that of transformers; convolutions those of ResNet-50, ConvNeXt, EfficientNet and a diffusion
U-Net, forward and with their gradients, for batches of 1 and 8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Case = tuple[str, Callable[..., Any], Callable[[], tuple[Any, ...]]]

SIDES = (256, 512, 1024, 2048)
"""Sizes of square products."""
SHAPES = {
    "tall": ((8192, 256), (256, 64)),
    "wide": ((64, 256), (256, 8192)),
    "layer": ((128, 768), (768, 3072)),
    "long_k": ((128, 8192), (8192, 128)),
    "batched": ((64, 128, 64), (64, 64, 128)),
    "row": ((1, 4096), (4096, 4096)),
}
"""Shapes of the operands of other products."""
BATCHES = (1, 8)
_RESULTS = {"f32": jnp.float32, "bf16": jnp.bfloat16, "i8": jnp.int32}


def values(element_type: str, *shape: int, seed: int = 0) -> Any:
    """Random values of a type, centred on zero."""
    draw = np.random.default_rng(seed)
    if element_type == "i8":
        return jnp.asarray(draw.integers(-100, 100, shape).astype(np.int8))
    array = jnp.asarray(draw.random(shape, dtype=np.float32) - np.float32(0.5))
    return array.astype(_RESULTS[element_type])


def products() -> dict[str, Case]:
    """Products of matrices, or of stacks of them."""
    shapes = {f"{side}": ((side, side), (side, side)) for side in SIDES} | SHAPES
    return {
        f"{name}_{element_type}": (
            "product",
            lambda a, b, result=result: jnp.matmul(a, b, preferred_element_type=result),
            lambda one=one, element_type=element_type: tuple(
                values(element_type, *shape, seed=number) for number, shape in enumerate(one)
            ),
        )
        for element_type, result in _RESULTS.items()
        for name, one in shapes.items()
    }


def attention(query: Any, key: Any, value: Any, *, is_causal: bool = False) -> Any:
    """Attention of [batch, head, row, feature]; a head of keys may serve several of queries."""
    batch, heads, rows, features = query.shape
    grouped = query.reshape(batch, key.shape[1], heads // key.shape[1], rows, features)
    scores = jnp.einsum("bhgqd,bhkd->bhgqk", grouped, key) * features**-0.5
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    result = jnp.einsum("bhgqk,bhkd->bhgqd", jax.nn.softmax(scores, -1), value)
    return result.reshape(query.shape)


def causal_attention(query: Any, key: Any, value: Any) -> Any:
    """Attention in which a row sees itself and the rows before it."""
    return attention(query, key, value, is_causal=True)


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of the sum of squares of a function's result by its two or three floating arguments."""

    def differentiate(*arguments: Any) -> Any:
        numbers = tuple(range(len(arguments)))
        return jax.grad(lambda *operands: (function(*operands) ** 2).sum(), argnums=numbers)(*arguments)

    return differentiate


ATTENTIONS: dict[str, tuple[Callable[..., Any], str, tuple[int, ...], tuple[int, ...]]] = {
    "attention": (attention, "f32", (4, 8, 256, 64), (4, 8, 256, 64)),
    "attention_bf16": (attention, "bf16", (4, 8, 256, 64), (4, 8, 256, 64)),
    "attention_causal": (causal_attention, "f32", (4, 8, 256, 64), (4, 8, 256, 64)),
    "attention_causal_bf16": (causal_attention, "bf16", (4, 8, 256, 64), (4, 8, 256, 64)),
    "attention_gpt2": (causal_attention, "f32", (1, 12, 128, 64), (1, 12, 128, 64)),
    "attention_grouped": (causal_attention, "f32", (1, 32, 256, 64), (1, 8, 256, 64)),
    "attention_long": (attention, "f32", (1, 8, 2048, 64), (1, 8, 2048, 64)),
    "attention_long_bf16": (attention, "bf16", (1, 8, 2048, 64), (1, 8, 2048, 64)),
    "attention_decoding": (attention, "f32", (1, 32, 1, 128), (1, 8, 1024, 128)),
}
"""The function, the element type, and the shapes of the query and of the key and the value."""


def attentions() -> dict[str, Case]:
    """Attention, and its gradients."""
    cases: dict[str, Case] = {}
    for name, (function, element_type, query, key) in ATTENTIONS.items():

        def build(element_type: str = element_type, query: Any = query, key: Any = key) -> tuple[Any, ...]:
            return tuple(values(element_type, *shape, seed=n) for n, shape in enumerate((query, key, key)))

        cases[name] = ("attention", function, build)
    for name in ("attention", "attention_causal"):
        _, function, build = cases[name]
        cases[f"{name}_gradient"] = ("attention", gradient(function), build)
    return cases


CONVOLUTIONS = {
    "resnet_7x7_stride": ((224, 3), (7, 3, 64), 2, 1),
    "resnet_1x1": ((56, 64), (1, 64, 256), 1, 1),
    "resnet_1x1_deep": ((7, 2048), (1, 2048, 512), 1, 1),
    "resnet_3x3": ((56, 64), (3, 64, 64), 1, 1),
    "resnet_3x3_deep": ((14, 256), (3, 256, 256), 1, 1),
    "resnet_3x3_stride": ((56, 128), (3, 128, 128), 2, 1),
    "resnet_1x1_stride": ((56, 256), (1, 256, 512), 2, 1),
    "convnext_7x7_by_channel": ((56, 96), (7, 1, 96), 1, 96),
    "efficientnet_3x3_by_channel": ((56, 144), (3, 1, 144), 1, 144),
    "efficientnet_5x5_by_channel": ((28, 240), (5, 1, 240), 1, 240),
    "efficientnet_5x5_by_channel_stride": ((56, 144), (5, 1, 144), 2, 144),
    "unet_3x3": ((32, 320), (3, 320, 320), 1, 1),
    "unet_3x3_wide": ((16, 640), (3, 640, 640), 1, 1),
}
"""Side and features of the images; side, input and output features of the filters; stride; groups."""


def convolve(stride: int, groups: int) -> Callable[[Any, Any], Any]:
    """A convolution of NHWC by HWIO."""
    return lambda x, w: lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups
    )


def squeeze_and_excite(x: Any, squeeze: Any, excite: Any) -> Any:
    """Scale the channels of images by a small network of their means (EfficientNet)."""
    return x * jax.nn.sigmoid(jax.nn.silu(x.mean((1, 2)) @ squeeze) @ excite)[:, None, None]


def convolutions() -> dict[str, Case]:
    """Convolutions, and squeeze and excite, and their gradients."""
    cases: dict[str, Case] = {}
    for batch in BATCHES:
        for name, ((side, features), (window, inputs, outputs), stride, groups) in CONVOLUTIONS.items():
            shapes = (batch, side, side, features), (window, window, inputs, outputs)
            cases[f"{name}_{batch}"] = _case(convolve(stride, groups), *shapes)
        shapes_of_network = (batch, 28, 28, 240), (240, 10), (10, 240)
        cases[f"squeeze_and_excite_{batch}"] = _case(squeeze_and_excite, *shapes_of_network)
    for name, (family, function, build) in list(cases.items()):
        cases[f"{name}_gradient"] = (family, gradient(function), build)
    return cases


def _case(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    def build() -> tuple[Any, ...]:
        return tuple(values("f32", *shape, seed=number) for number, shape in enumerate(shapes))

    return "convolution", function, build


CASES: dict[str, Case] = products() | attentions() | convolutions()
