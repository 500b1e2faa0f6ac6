"""Flax models of transformers, with random weights."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .declaration import Workload, integers, library_program, normal


@library_program("transformers", bound=1e-3)
def transformers_bert_inference() -> Workload:
    from transformers import BertConfig, FlaxBertModel

    model = FlaxBertModel(BertConfig(), seed=0)
    return lambda parameters, words: model(words, params=parameters).last_hidden_state, (
        model.params,
        integers(30000, 1, 128),
    )


@library_program("transformers", bound=1e-3)
def transformers_gpt2_inference() -> Workload:
    from transformers import FlaxGPT2LMHeadModel, GPT2Config

    model = FlaxGPT2LMHeadModel(GPT2Config(), seed=0)
    return lambda parameters, words: model(words, params=parameters).logits, (
        model.params,
        integers(50000, 1, 128),
    )


@library_program("transformers", bound=2e-3)
def transformers_gpt2_training() -> Workload:
    import optax
    from transformers import FlaxGPT2LMHeadModel, GPT2Config

    model = FlaxGPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=4096), seed=0)
    optimizer = optax.adamw(1e-4)

    def step(parameters: Any, state: Any, words: Any) -> Any:
        def loss(parameters: Any) -> Any:
            logits = model(words, params=parameters).logits[:, :-1]
            return optax.softmax_cross_entropy_with_integer_labels(logits, words[:, 1:]).mean()

        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, new_state = optimizer.update(gradient, state, parameters)
        return value, optax.apply_updates(parameters, updates), new_state

    return step, (model.params, optimizer.init(model.params), integers(4096, 2, 128))


@library_program("transformers", bound=1e-3)
def transformers_whisper_encoder() -> Workload:
    from transformers import FlaxWhisperModel, WhisperConfig

    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    model = FlaxWhisperModel(config, input_shape=(1, 80, 3000), seed=0)

    def encode(parameters: Any, sound: Any) -> Any:
        return model.encode(sound, params=parameters).last_hidden_state.astype(jnp.float32)

    return encode, (model.params, normal(1, 80, 3000))


@library_program("transformers", bound=1e-3, sizes=(1, 4, 32))
def transformers_beam_search(beams: int) -> Workload:
    from transformers import FlaxGPT2LMHeadModel, GPT2Config

    config = GPT2Config(
        n_layer=2, n_embd=64, n_head=2, vocab_size=512, n_positions=64, eos_token_id=0, pad_token_id=0
    )
    model = FlaxGPT2LMHeadModel(config, seed=0)

    def search(parameters: Any, words: Any) -> Any:
        options = {"num_beams": beams, "do_sample": False, "max_length": 24}
        return model.generate(words, params=parameters, **options).sequences

    return search, (model.params, integers(512, 2, 8))
