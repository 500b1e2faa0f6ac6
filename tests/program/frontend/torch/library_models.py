"""The models that `models` runs, in small sizes: of torchvision, transformers and `small_models`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.program.frontend.torch import small_models

Inputs = tuple[Any, ...]


def torchvision_model(name: str, size: int = 64, **settings: Any) -> tuple[torch.nn.Module, Inputs]:
    """A model of torchvision and a batch of images."""
    torchvision = small_models.import_torchvision()
    model = getattr(torchvision.models, name)(num_classes=10, **settings)
    return model, (torch.randn(2, 3, size, size),)


def convnext() -> tuple[torch.nn.Module, Inputs]:
    from torchvision.models.convnext import CNBlockConfig

    blocks = [CNBlockConfig(16, 32, 1), CNBlockConfig(32, 64, 2), CNBlockConfig(64, None, 1)]
    return torchvision_model("ConvNeXt", block_setting=blocks, stochastic_depth_prob=0.2)


def efficientnet() -> tuple[torch.nn.Module, Inputs]:
    from torchvision.models.efficientnet import MBConvConfig

    blocks = [
        MBConvConfig(1, 3, 1, 16, 8, 1),
        MBConvConfig(4, 3, 2, 8, 16, 2),
        MBConvConfig(4, 5, 2, 16, 24, 1),
    ]
    return torchvision_model("EfficientNet", inverted_residual_setting=blocks, dropout=0.2)


def mobilenet_v3() -> tuple[torch.nn.Module, Inputs]:
    from torchvision.models.mobilenetv3 import InvertedResidualConfig

    blocks = [
        InvertedResidualConfig(16, 3, 16, 16, True, "RE", 2, 1, 1),
        InvertedResidualConfig(16, 3, 48, 24, False, "RE", 1, 1, 1),
        InvertedResidualConfig(24, 5, 64, 32, True, "HS", 2, 1, 1),
    ]
    return torchvision_model("MobileNetV3", inverted_residual_setting=blocks, last_channel=64)


def transformer(
    name: str,
    config: str,
    inputs: Callable[[], Inputs],
    wrapper: type[small_models.FirstOutput] = small_models.FirstOutput,
    **settings: Any,
) -> tuple[Any, Inputs]:
    """A small model of transformers that returns its first output."""
    small_models.import_torchvision()
    import transformers

    settings = {"use_cache": False, **settings} if "use_cache" not in settings else settings
    configuration = getattr(transformers, config)(**settings)
    model = getattr(transformers, name)(configuration)
    return wrapper(model), inputs()


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
    "convnext": convnext,
    "efficientnet": efficientnet,
    "mobilenet_v2": lambda: torchvision_model(
        "MobileNetV2",
        width_mult=0.5,
        inverted_residual_setting=[[1, 16, 1, 1], [4, 24, 2, 2], [4, 32, 2, 1]],
    ),
    "mobilenet_v3": mobilenet_v3,
    "densenet": lambda: torchvision_model(
        "DenseNet", growth_rate=8, block_config=(2, 2, 2), num_init_features=16, bn_size=2
    ),
    "swin": lambda: torchvision_model(
        "SwinTransformer",
        32,
        patch_size=[2, 2],
        embed_dim=16,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=[4, 4],
    ),
    "vision_transformer": lambda: torchvision_model(
        "VisionTransformer",
        32,
        image_size=32,
        patch_size=8,
        num_layers=2,
        num_heads=4,
        hidden_dim=32,
        mlp_dim=64,
        dropout=0.1,
    ),
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
    ),
    "gpt2": lambda: transformer(
        "GPT2LMHeadModel",
        "GPT2Config",
        lambda: (tokens(2, 9),),
        vocab_size=100,
        n_embd=32,
        n_layer=2,
        n_head=4,
    ),
    "llama": lambda: transformer(
        "LlamaForCausalLM",
        "LlamaConfig",
        lambda: (tokens(2, 9),),
        vocab_size=100,
        **SMALL,
        num_key_value_heads=2,
    ),
    "mixtral": lambda: transformer(
        "MixtralModel",
        "MixtralConfig",
        lambda: (tokens(2, 9),),
        small_models.MixtureOfExperts,
        vocab_size=100,
        **SMALL,
        num_key_value_heads=2,
        num_local_experts=4,
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
        dropout=0.1,
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
