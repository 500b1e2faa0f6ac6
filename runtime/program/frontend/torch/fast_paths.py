"""Decompositions of operations by which PyTorch runs layers of transformers when it computes no gradients.

PyTorch has none of its own. Classes hold the arguments of an operation, in the order of its schema.

Source: PyTorch, ``torch.nn.TransformerEncoderLayer`` and ``torch.nn.MultiheadAttention``, "fast path".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ....kernels.named_tuples import NamedTuple

_SOURCE_MASK, _PADDING_MASK = 0, 1
"""PyTorch's numbers of the kinds of masks: by query and key, and by key; others have all dimensions."""


class _Attention(NamedTuple):
    """The arguments of ``_native_multi_head_attention``."""

    query: Any
    key: Any
    value: Any
    embed_dim: int
    num_head: int
    qkv_weight: Any
    qkv_bias: Any
    proj_weight: Any
    proj_bias: Any
    mask: Any = None
    need_weights: bool = True
    average_attn_weights: bool = True
    mask_type: int | None = None

    def visible(self) -> Any:
        """The mask as attention takes it; PyTorch's is true, or negative infinity, where nothing is seen."""
        import torch

        mask = self.mask
        if mask is None:
            return None
        if self.mask_type == _PADDING_MASK:
            mask = mask[:, None, None, :]
        elif self.mask_type == _SOURCE_MASK and mask.dim() == 2:
            mask = mask[None, None]
        return mask.logical_not() if mask.dtype == torch.bool else mask

    def heads(self) -> list[Any]:
        """Queries, keys and values, each [batch, head, position, channel]."""
        from torch.nn import functional

        operands = zip(
            (self.query, self.key, self.value), self.qkv_weight.chunk(3), self.qkv_bias.chunk(3), strict=True
        )
        projected = [functional.linear(*each) for each in operands]
        return [x.unflatten(-1, (self.num_head, -1)).transpose(1, 2) for x in projected]


def multi_head_attention(*args: Any, **named: Any) -> tuple[Any, Any]:
    """The attention, and its weights where they are wanted; a tensor without elements otherwise."""
    import torch
    from torch.nn import functional

    attention = _Attention(*args, **named)
    q, k, v = attention.heads()
    visible = attention.visible()
    if attention.need_weights:
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if visible is not None:
            is_boolean = visible.dtype == torch.bool
            scores = scores.masked_fill(~visible, float("-inf")) if is_boolean else scores + visible
        weights = scores.softmax(-1)
        attended = weights @ v
        weights = weights.mean(1) if attention.average_attn_weights else weights
    else:
        attended = functional.scaled_dot_product_attention(q, k, v, visible)
        weights = attention.query.new_empty((0,))
    joined = attended.transpose(1, 2).flatten(2)
    return functional.linear(joined, attention.proj_weight, attention.proj_bias), weights


class _EncoderLayer(NamedTuple):
    """The arguments of ``_transformer_encoder_layer_fwd``."""

    src: Any
    embed_dim: int
    num_heads: int
    qkv_weight: Any
    qkv_bias: Any
    proj_weight: Any
    proj_bias: Any
    use_gelu: bool
    norm_first: bool
    eps: float
    norm_weight_1: Any
    norm_bias_1: Any
    norm_weight_2: Any
    norm_bias_2: Any
    ffn_weight_1: Any
    ffn_bias_1: Any
    ffn_weight_2: Any
    ffn_bias_2: Any
    mask: Any = None
    mask_type: int | None = None

    def attend(self, x: Any) -> Any:
        projections = self.qkv_weight, self.qkv_bias, self.proj_weight, self.proj_bias
        settings = self.mask, False, True, self.mask_type
        return multi_head_attention(x, x, x, self.embed_dim, self.num_heads, *projections, *settings)[0]

    def feed_forward(self, x: Any) -> Any:
        from torch.nn import functional

        x = functional.linear(x, self.ffn_weight_1, self.ffn_bias_1)
        x = functional.gelu(x) if self.use_gelu else x.relu()
        return functional.linear(x, self.ffn_weight_2, self.ffn_bias_2)

    def normalize(self, x: Any, weight: Any, bias: Any) -> Any:
        from torch.nn import functional

        return functional.layer_norm(x, (self.embed_dim,), weight, bias, self.eps)


def encoder_layer(*args: Any, **named: Any) -> Any:
    """A layer of an encoder: attention, two linear maps, and a normalization for each."""
    layer = _EncoderLayer(*args, **named)
    x = layer.src
    for block, weight, bias in (
        (layer.attend, layer.norm_weight_1, layer.norm_bias_1),
        (layer.feed_forward, layer.norm_weight_2, layer.norm_bias_2),
    ):
        if layer.norm_first:
            x = x + block(layer.normalize(x, weight, bias))
        else:
            x = layer.normalize(x + block(x), weight, bias)
    return x


FAST_PATHS: Final[dict[str, Callable[..., Any]]] = {
    "_native_multi_head_attention": multi_head_attention,
    "_transformer_encoder_layer_fwd": encoder_layer,
}
"""The decompositions by the operation's name in ``torch.ops.aten``."""
