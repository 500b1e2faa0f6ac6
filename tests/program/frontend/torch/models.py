"""Runs models of torchvision and transformers with random weights: inference and training steps.

    python -m tests.program.frontend.torch.models [NAME ...] [--steps N] [--times] [--journal FILE] [--table]
        [--list]

Inference goes through torch.export and torch.compile, training through torch.compile. Of the graphs of
inference, and of the loss and the gradients of the first training step, PyTorch's results must lie within the
bounds of `nimblehlo.accuracy`. After all steps, losses and parameters must be as close to PyTorch's as those
are to PyTorch's in double precision, or within TRAINING_BOUND. ``--table`` writes the journal's outcomes to
docs/torch.md.
Needs the extra ``torch``, torchvision and transformers.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch

import nimblehlo
from nimblehlo.errors import NimbleError
from tests.program.frontend.torch import small_models
from tests.program.frontend.torch.judging import Judge, largest_error, relative_error
from tools.marked_text import replace_marked

TRAINING_BOUND: Final = 1e-3
"""The accepted error of losses and parameters after training steps, relative to the largest value."""
INFERENCE_BOUND: Final = 1e-4
"""The accepted error of an exported model's result, relative to the largest value."""

DOCUMENT: Final = Path(__file__).resolve().parents[4] / "docs" / "torch.md"
BEGIN: Final = "<!-- models: python -m tests.program.frontend.torch.models --table -->\n"
END: Final = "<!-- end of models -->\n"

Inputs = tuple[Any, ...]


def torchvision_model(name: str, size: int = 64, **settings: Any) -> tuple[torch.nn.Module, Inputs]:
    """A model of torchvision and a batch of images."""
    torchvision = small_models.import_torchvision()
    model = getattr(torchvision.models, name)(weights=None, num_classes=10, **settings)
    return model, (torch.randn(2, 3, size, size),)


def transformer(name: str, config: str, inputs: Callable[[], Inputs], **settings: Any) -> tuple[Any, Inputs]:
    """A small model of transformers that returns its first output."""
    small_models.import_torchvision()
    import transformers

    settings = {"use_cache": False, **settings} if "use_cache" not in settings else settings
    configuration = getattr(transformers, config)(**settings)
    model = getattr(transformers, name)(configuration)
    return small_models.FirstOutput(model), inputs()


def frozen_features(*args: Any, **settings: Any) -> tuple[Any, Inputs]:
    """A model of audio whose convolutions are not trained, as when it is tuned to a task.

    TorchDynamo cannot trace the model where they are: it sets ``requires_grad`` of its input.
    """
    model, inputs = transformer(*args, **settings)
    model.model.freeze_feature_encoder()
    return model, inputs


def tokens(*shape: int) -> torch.Tensor:
    return torch.randint(0, 90, shape)


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}

MODELS: dict[str, Callable[[], tuple[Any, Inputs]]] = {
    "resnet18": lambda: torchvision_model("resnet18"),
    "resnet50": lambda: torchvision_model("resnet50"),
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
    "wav2vec2": lambda: frozen_features(
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


def model_of(name: str) -> tuple[Any, Inputs]:
    """A model with random weights, also where its library starts with zeros, and its inputs."""
    torch.manual_seed(0)
    torch._dynamo.config.allow_rnn = True
    model, inputs = MODELS[name]()
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():
                parameter.normal_(std=0.02)
    return model, inputs


def inference_error(model: Any, inputs: Inputs) -> float:
    """The error of an exported model's result."""
    model.eval()
    with torch.no_grad():
        executable = nimblehlo.compile(torch.export.export(model, inputs))
        return relative_error(executable(*inputs), model(*inputs))


def judged_inference(model: Any, inputs: Inputs, judge: Judge) -> None:
    """Judge the graph of a model that is not trained."""
    model.eval()
    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend=judge, fullgraph=True)(*inputs)


def losses(model: Any, run: Callable[..., Any], inputs: Inputs, steps: int) -> list[torch.Tensor]:
    """The losses of training steps, and the parameters after them."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.01)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = run(*inputs).square().mean()
        loss.backward()
        optimizer.step()
        history.append(loss.detach())
    return [torch.stack(history), *(parameter.detach() for parameter in model.parameters())]


def training_errors(
    model: Any, inputs: Inputs, steps: int, backend: Any = "nimblehlo"
) -> tuple[float, float]:
    """The largest error of losses and parameters after training steps, and that of PyTorch itself.

    PyTorch's own error is the distance of its results from those in double precision: normalizations of few
    elements magnify rounding errors.
    """
    model.train()
    other, exact = copy.deepcopy(model), copy.deepcopy(model).double()
    torch._dynamo.reset()
    actual = losses(model, torch.compile(model, backend=backend, fullgraph=True), inputs, steps)
    expected = losses(other, other, inputs, steps)
    wide = [each.double() if torch.is_tensor(each) and each.is_floating_point() else each for each in inputs]
    own = largest_error(expected, losses(exact, exact, tuple(wide), steps))
    return largest_error(actual, expected), own


def fastest(functions: Sequence[Callable[[], object]], seconds: float = 1.0) -> list[float | None]:
    """The shortest time of each function in milliseconds, called in turn; None for one that fails."""
    working: dict[int, Callable[[], object]] = {}
    for number, function in enumerate(functions):
        with contextlib.suppress(Exception):
            function()
            function()
            working[number] = function
    times: dict[int, list[float]] = {number: [] for number in working}
    limit = time.perf_counter() + seconds * len(functions)
    for _ in range(1000):
        for number, function in working.items():
            start = time.perf_counter()
            function()
            times[number].append(time.perf_counter() - start)
        if time.perf_counter() > limit:
            break
    return [1e3 * min(times[number]) if number in times else None for number in range(len(functions))]


def _runs(model: Any) -> list[Any]:
    """The model compiled by this runtime, the model, and the model compiled by PyTorch, all on one thread.

    PyTorch's threads wait for each other, so that other processes on the machine would decide its times.
    """
    torch._dynamo.reset()
    torch.set_num_threads(1)
    options = {"compile": "eager", "threads": 1}
    own = torch.compile(model, backend="nimblehlo", options=options, fullgraph=True)
    return [own, model, torch.compile(model, fullgraph=True)]


def inference_times(model: Any, inputs: Inputs) -> list[float | None]:
    """Milliseconds of a call by this runtime, by PyTorch, and by torch.compile with its default backend."""
    model.eval()
    with torch.no_grad():
        return fastest([lambda run=run: run(*inputs) for run in _runs(model)])


def training_times(model: Any, inputs: Inputs) -> list[float | None]:
    """The same of a loss and its gradients."""
    model.train()

    def step(run: Any) -> None:
        model.zero_grad()
        run(*inputs).square().mean().backward()

    return fastest([lambda run=run: step(run) for run in _runs(model)])


def outcome_of(name: str, steps: int) -> dict[str, Any]:
    """How far a model's results are from PyTorch's."""
    model, inputs = model_of(name)
    judge = Judge()
    outcome: dict[str, Any] = {"model": name, "inference": inference_error(model, inputs)}
    judged_inference(model, inputs, judge)
    if steps:
        outcome["training"], outcome["own"] = training_errors(model, inputs, steps, judge)
    outcome |= {"graphs": judge.graphs, "violations": judge.violations}
    within = outcome["inference"] <= INFERENCE_BOUND and not judge.violations
    outcome["passed"] = within and outcome.get("training", 0) <= max(TRAINING_BOUND, outcome.get("own", 0))
    return outcome


def times_of(name: str) -> dict[str, Any]:
    """The times of a model."""
    model, inputs = model_of(name)
    return {
        "inference_times": inference_times(model, inputs),
        "training_times": training_times(model, inputs),
    }


def line_of(outcome: Mapping[str, Any]) -> str:
    """An outcome in words."""
    if "error" in outcome:
        return f"{outcome['model']:20} {outcome['error'][:400]}"
    violations = len(outcome["violations"])
    line = f"{outcome['model']:20} {outcome['graphs']} graphs, {violations} beyond their bounds"
    line += f"  inference {outcome['inference']:.1e}"
    if "training" in outcome:
        line += f"  training {outcome['training']:.1e} (PyTorch {outcome['own']:.1e})"
    for kind in ("inference", "training"):
        if f"{kind}_times" in outcome:
            own, eager, inductor = _cells(outcome[f"{kind}_times"])
            line += f"  {kind}: {own}, / eager {eager}, / inductor {inductor}"
    return line if outcome["passed"] else f"{line}  FAILED {outcome['violations'][:2]}"


def _cells(times: Sequence[float | None]) -> list[str]:
    """This runtime's time, and its ratio to the others'; nothing where it was not measured."""
    own, *others = times
    if own is None:
        return ["", "", ""]
    return [f"{own:.3g} ms", *("fails" if other is None else f"{own / other:.2f}" for other in others)]


def table(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """The outcomes of a journal as a table."""
    rows = [
        "| model | inference: error | time | / eager | / inductor | training: error | PyTorch's own | time "
        "| / eager | / inductor |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in outcomes:
        times = [each.get(f"{kind}_times", (None, None, None)) for kind in ("inference", "training")]
        cells = [each["model"], f"{each['inference']:.1e}", *_cells(times[0])]
        cells += [f"{each['training']:.1e}", f"{each['own']:.1e}", *_cells(times[1])]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n" + "\n".join(rows) + "\n\n"


def last_outcomes(journal: Path) -> dict[str, Any]:
    """The last outcome of each model in a journal."""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return {outcome["model"]: outcome for outcome in map(json.loads, lines)}


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if all models are within the bounds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--journal", type=Path, help="a file for the outcomes; what it has is not run again")
    parser.add_argument("--table", action="store_true", help="write the journal to the document, run nothing")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        print("\n".join(MODELS))
        return 0
    outcomes = last_outcomes(chosen.journal) if chosen.journal else {}
    if chosen.table:
        ordered = [outcomes[name] for name in MODELS if outcomes.get(name, {}).get("passed")]
        replace_marked(DOCUMENT, BEGIN, table(ordered), END)
        return 0
    warnings.simplefilter("ignore")
    for name in chosen.names or MODELS:
        outcome = outcomes.get(name, {})
        missing = "passed" not in outcome or (chosen.times and "inference_times" not in outcome)
        if not missing:
            continue
        start = time.perf_counter()
        try:
            if "passed" not in outcome:
                outcome |= outcome_of(name, chosen.steps)
            if chosen.times:
                outcome |= times_of(name)
        except (NimbleError, RuntimeError) as error:
            outcome = {"model": name, "passed": False, "error": f"{type(error).__name__}: {error}"}
        outcomes[name] = outcome
        print(f"{line_of(outcome)}  ({time.perf_counter() - start:.0f} s)", flush=True)
        if chosen.journal:
            with chosen.journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcome) + "\n")
    passed = [outcome["passed"] for outcome in outcomes.values()]
    print(f"{sum(passed)} of {len(passed)} models are within the bounds")
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
