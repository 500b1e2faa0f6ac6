"""Runs models of torchvision and transformers with random weights: inference and training steps.

    python -m tests.program.frontend.torch.models [NAME ...] [--steps N] [--times] [--list]

Inference goes through torch.export and `nimblehlo.compile`, training through torch.compile. Results are
compared with those of PyTorch on the CPU. Needs the extra ``torch``, and torchvision and transformers.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import nimblehlo
from nimblehlo.errors import NimbleError
from tests.program.frontend.torch import small_models

BOUND = 1e-4
"""The accepted error of results, relative to the largest one."""
TRAINING_BOUND = 1e-3
"""The same of losses and parameters after training steps."""

Inputs = tuple[Any, ...]


def torchvision_model(name: str, size: int = 64, **settings: Any) -> tuple[torch.nn.Module, Inputs]:
    """A model of torchvision and a batch of images."""
    small_models.define_torchvision_operators()
    import torchvision

    model = getattr(torchvision.models, name)(weights=None, num_classes=10, **settings)
    return model, (torch.randn(2, 3, size, size),)


def transformer(name: str, config: str, inputs: Callable[[], Inputs], **settings: Any) -> tuple[Any, Inputs]:
    """A small model of transformers that returns its first output."""
    small_models.define_torchvision_operators()
    import transformers

    settings = {"use_cache": False, **settings} if "use_cache" not in settings else settings
    configuration = getattr(transformers, config)(**settings)
    model = getattr(transformers, name)(configuration)
    return small_models.FirstOutput(model), inputs()


def tokens(*shape: int) -> torch.Tensor:
    return torch.randint(0, 90, shape)


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}

MODELS: dict[str, Callable[[], tuple[Any, Inputs]]] = {
    "resnet18": lambda: torchvision_model("resnet18"),
    "convnext_tiny": lambda: torchvision_model("convnext_tiny"),
    "efficientnet_b0": lambda: torchvision_model("efficientnet_b0", dropout=0.0, stochastic_depth_prob=0.0),
    "mobilenet_v3_small": lambda: torchvision_model("mobilenet_v3_small", dropout=0.0),
    "densenet121": lambda: torchvision_model("densenet121"),
    "swin_t": lambda: torchvision_model("swin_t", stochastic_depth_prob=0.0),
    "vit_b_16": lambda: torchvision_model("vit_b_16", image_size=64),
    "unet": lambda: (small_models.UNet(), (torch.randn(2, 3, 32, 32),)),
    "detr_head": lambda: (small_models.DetrHead(), (torch.randn(2, 16, 8, 8),)),
    "lstm": lambda: (small_models.Recurrent(torch.nn.LSTM), (torch.randn(2, 7, 8),)),
    "gru": lambda: (small_models.Recurrent(torch.nn.GRU), (torch.randn(2, 7, 8),)),
    "graph_convolution": lambda: (
        small_models.GraphConvolution(),
        (torch.randn(12, 8), torch.randint(0, 12, (2, 40))),
    ),
    "spectrogram": lambda: (small_models.Spectrogram(), (torch.randn(2, 1024),)),
    "bert": lambda: transformer(
        "BertModel",
        "BertConfig",
        lambda: (tokens(2, 9),),
        vocab_size=100,
        **SMALL,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    ),
    "gpt2": lambda: transformer(
        "GPT2LMHeadModel",
        "GPT2Config",
        lambda: (tokens(2, 9),),
        vocab_size=100,
        n_embd=32,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    ),
    "llama": lambda: transformer(
        "LlamaForCausalLM",
        "LlamaConfig",
        lambda: (tokens(2, 9),),
        vocab_size=100,
        **SMALL,
        num_key_value_heads=2,
    ),
    "t5": lambda: transformer(
        "T5Model",
        "T5Config",
        lambda: (tokens(2, 9), None, tokens(2, 5)),
        vocab_size=100,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
    ),
    "whisper": lambda: transformer(
        "WhisperModel",
        "WhisperConfig",
        lambda: (torch.randn(1, 80, 64), None, tokens(1, 5)),
        vocab_size=100,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=32,
        max_target_positions=32,
        dropout=0.0,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    ),
    "vit": lambda: transformer(
        "ViTModel",
        "ViTConfig",
        lambda: (torch.randn(2, 3, 32, 32),),
        image_size=32,
        patch_size=8,
        **SMALL,
    ),
    "mamba": lambda: transformer(
        "MambaModel",
        "MambaConfig",
        lambda: (tokens(2, 9),),
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=2,
        state_size=8,
    ),
    "wav2vec2": lambda: transformer(
        "Wav2Vec2Model",
        "Wav2Vec2Config",
        lambda: (torch.randn(2, 2000),),
        **SMALL,
        conv_dim=(16, 16, 16),
        conv_kernel=(10, 3, 3),
        conv_stride=(5, 2, 2),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        num_feat_extract_layers=3,
        layerdrop=0.0,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        feat_proj_dropout=0.0,
        activation_dropout=0.0,
        mask_time_prob=0.0,
    ),
    "albert": lambda: transformer(
        "AlbertModel",
        "AlbertConfig",
        lambda: (tokens(2, 9),),
        vocab_size=100,
        embedding_size=16,
        **SMALL,
    ),
}
"""Makes each model and its inputs."""


def relative_error(actual: Any, expected: Any, least: float = 1e-30) -> float:
    """The largest difference of two tensors, relative to the largest value, or to `least`."""
    actual, expected = (np.asarray(each.detach(), np.float64) for each in (actual, expected))
    if not actual.size:
        return 0.0
    return float(np.abs(actual - expected).max() / max(np.abs(expected).max(), least))


def inference_error(model: Any, inputs: Inputs) -> float:
    """The error of an exported model's result."""
    model.eval()
    with torch.no_grad():
        executable = nimblehlo.compile(torch.export.export(model, inputs))
        return relative_error(executable(*inputs), model(*inputs))


def losses(model: Any, run: Callable[..., Any], inputs: Inputs, steps: int) -> list[torch.Tensor]:
    """The losses of training steps, and the parameters after them."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = run(*inputs).square().mean()
        loss.backward()
        optimizer.step()
        history.append(loss.detach())
    return [torch.stack(history), *(parameter.detach() for parameter in model.parameters())]


def training_error(model: Any, inputs: Inputs, steps: int) -> float:
    """The largest error of losses and parameters after training steps.

    It is divided by how far PyTorch's own results are from those in double precision, where that is beyond
    TRAINING_BOUND: normalizations of few elements magnify rounding errors.
    """
    model.train()
    other, exact = copy.deepcopy(model), copy.deepcopy(model).double()
    torch._dynamo.reset()
    torch._dynamo.config.allow_rnn = True
    compiled = torch.compile(model, backend="nimblehlo", fullgraph=True)
    actual = losses(model, compiled, inputs, steps)
    expected = losses(other, other, inputs, steps)
    wide = [each.double() if torch.is_tensor(each) and each.is_floating_point() else each for each in inputs]
    own = _largest_error(expected, losses(exact, exact, tuple(wide), steps))
    return _largest_error(actual, expected) / max(1.0, own / TRAINING_BOUND)


def _largest_error(actual: Sequence[Any], expected: Sequence[Any]) -> float:
    # A parameter whose gradient is 0 stays where rounding errors move it: at 0, such as the biases of keys.
    return max(relative_error(*pair, least=1e-2) for pair in zip(actual, expected, strict=True))


def milliseconds(function: Callable[[], object], calls: int = 5) -> float:
    """The shortest time of some calls, after two others."""
    times = []
    for _ in range(2 + calls):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times[2:])


def inference_times(model: Any, inputs: Inputs) -> tuple[float, float, float]:
    """Milliseconds of a call by this runtime, by PyTorch, and by torch.compile with its default backend."""
    model.eval()
    with torch.no_grad():
        executable = nimblehlo.compile(torch.export.export(model, inputs))
        torch._dynamo.reset()
        inductor = torch.compile(model)
        functions = (executable, model, inductor)
        return tuple(milliseconds(lambda each=each: each(*inputs)) for each in functions)  # type: ignore[return-value]


def report(name: str, steps: int, times: bool) -> bool:
    """Print a model's line; whether its errors are within the bounds."""
    torch.manual_seed(0)
    start = time.perf_counter()
    try:
        model, inputs = MODELS[name]()
        inference = inference_error(model, inputs)
        training = training_error(model, inputs, steps) if steps else 0.0
    except (NimbleError, RuntimeError) as error:
        print(f"{name:20} {type(error).__name__}: {str(error)[:400]}", flush=True)
        return False
    seconds = time.perf_counter() - start
    line = f"{name:20} inference {inference:.1e}  training {training:.1e}  {seconds:.0f} s"
    if times:
        line += "  nimblehlo {:.1f} ms, eager {:.1f} ms, inductor {:.1f} ms".format(
            *inference_times(model, inputs)
        )
    passed = inference <= BOUND and training <= TRAINING_BOUND
    print(line if passed else f"{line}  TOO LARGE", flush=True)
    return passed


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if all models are within the bounds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        print("\n".join(MODELS))
        return 0
    warnings.simplefilter("ignore")
    passed = [report(name, chosen.steps, chosen.times) for name in chosen.names or MODELS]
    print(f"{sum(passed)} of {len(passed)} models are within the bounds")
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
