"""Small models of PyTorch that libraries do not have, or have only with more dependencies."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_LIBRARY: list[Any] = []


def import_torchvision() -> Any:
    """The package torchvision, also beside a build of PyTorch that cannot load its native library.

    Models need none of its operators, but the package does not import while they are not declared.
    """
    with contextlib.suppress(RuntimeError):
        import torchvision

        return torchvision
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _LIBRARY.append(library)
    import torchvision

    return torchvision


class FirstOutput(nn.Module):
    """A model of transformers whose result is the first of its outputs."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, first: Tensor, mask: Tensor | None = None, decoder: Tensor | None = None) -> Tensor:
        settings: dict[str, Any] = {"return_dict": False}
        if decoder is not None:
            settings["decoder_input_ids"] = decoder
        return self.model(first, **settings)[0]  # type: ignore[no-any-return]


class MixtureOfExperts(FirstOutput):
    """A model whose experts' products PyTorch computes in groups, in single precision at most.

    In double precision each row is multiplied by its expert's matrix.
    """

    def double(self) -> MixtureOfExperts:
        self.model.set_experts_implementation("batched_mm")
        return super().double()


class UNet(nn.Module):
    """Two levels with skip connections, transposed convolutions and group normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU())
        self.middle = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.SiLU())
        self.up = nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1, output_padding=1)
        self.last = nn.Conv2d(16, 3, 3, padding=1, padding_mode="reflect")

    def forward(self, x: Tensor) -> Tensor:
        skip = self.down(x)
        return self.last(torch.cat([skip, self.up(self.middle(skip))], 1))


class DetrHead(nn.Module):
    """A transformer of image features and learned queries, with boxes and classes as results."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)
        self.project = nn.Conv2d(16, 32, 1)
        self.queries = nn.Parameter(torch.randn(5, 32))
        self.boxes, self.classes = nn.Linear(32, 4), nn.Linear(32, 7)

    def forward(self, features: Tensor) -> Tensor:
        memory = self.project(features).flatten(2).transpose(1, 2)
        queries = self.queries.expand(len(features), -1, -1)
        decoded = self.transformer(memory, queries)
        return torch.cat([self.boxes(decoded).sigmoid(), self.classes(decoded).log_softmax(-1)], -1)


class Recurrent(nn.Module):
    """A recurrent network of two layers, and the classes of its last state."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer(8, 16, num_layers=2, batch_first=True)
        self.last = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layer(x)[0][:, -1])  # type: ignore[no-any-return]


class GraphConvolution(nn.Module):
    """Two convolutions over a graph's edges, with sums and maxima of messages."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        x = self.first(x).relu()
        degree = torch.zeros(len(x)).index_add(0, target, torch.ones(len(target))).clamp(min=1)
        x = torch.zeros_like(x).index_add(0, target, x[source]) / degree[:, None]
        index = target[:, None].expand(-1, x.shape[1])
        extremes = torch.zeros_like(x).scatter_reduce(0, index, x[source], "amax")
        return self.second(x + extremes)  # type: ignore[no-any-return]


class Spectrogram(nn.Module):
    """Convolutions over the magnitudes of a short-time Fourier transform."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(65, 16, 3, padding=1), nn.GELU(), nn.AdaptiveAvgPool1d(5))

    def forward(self, x: Tensor) -> Tensor:
        frames = x.unfold(1, 128, 64) * torch.hann_window(128)
        magnitude = torch.fft.rfft(frames).abs().transpose(1, 2)
        return functional.layer_norm(self.layers((magnitude + 1e-3).log()), [5])
