"""Tiny random Hugging Face models, built from configs alone, and inputs for them."""

import pytest
import torch

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'semfocus[hf]'"
)
transformers.logging.set_verbosity_error()

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 50,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}
GROUPED = SIZES | {"num_key_value_heads": 2, "max_position_embeddings": 64}


def build(name, **changes):
    """A model with large random weights, so that patterns matter, in evaluation."""
    torch.manual_seed(0)
    config = {"initializer_range": 0.4} | changes
    model = _BUILDERS[name](config)
    return model.eval()


def _gpt2(changes):
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 50, "n_positions": 64}
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes | tokens | changes))


def _t5(changes):
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 50}
    changes = {key: value for key, value in changes.items() if key != "initializer_range"}
    config = transformers.T5Config(**sizes | {"decoder_start_token_id": 0, "dropout_rate": 0.0} | changes)
    return transformers.T5ForConditionalGeneration(config)


def _vit(changes):
    sizes = {
        key: SIZES[key]
        for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    }
    config = transformers.ViTConfig(**sizes | {"image_size": 16, "patch_size": 4} | changes)
    return transformers.ViTForImageClassification(config)


def _bert(changes):
    sizes = SIZES | {"max_position_embeddings": 64, "num_labels": 3}
    return transformers.BertForSequenceClassification(transformers.BertConfig(**sizes | changes))


def _gemma2(changes):
    sizes = GROUPED | {"head_dim": 8, "sliding_window": 5, "attn_logit_softcapping": 2.0}
    return transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**sizes | changes))


def _gpt_oss(changes):
    sizes = GROUPED | {"head_dim": 8, "sliding_window": 5, "num_local_experts": 2, "num_experts_per_tok": 1}
    return transformers.GptOssForCausalLM(transformers.GptOssConfig(**sizes | changes))


def _opt(changes):
    sizes = {key: value for key, value in SIZES.items() if key != "intermediate_size"}
    changes = {key: value for key, value in changes.items() if key != "initializer_range"}
    config = sizes | {
        "ffn_dim": 48,
        "word_embed_proj_dim": 32,
        "max_position_embeddings": 64,
        "init_std": 0.4,
    }
    return transformers.OPTForCausalLM(transformers.OPTConfig(**config | changes))


_BUILDERS = {
    "llama": lambda changes: transformers.LlamaForCausalLM(transformers.LlamaConfig(**GROUPED | changes)),
    "mistral": lambda changes: transformers.MistralForCausalLM(
        transformers.MistralConfig(**GROUPED | {"sliding_window": 5} | changes)
    ),
    "gpt2": _gpt2,
    "bert": _bert,
    "t5": _t5,
    "vit": _vit,
    "gemma2": _gemma2,
    "gpt_oss": _gpt_oss,
    "opt": _opt,
}

#: causal language models
DECODERS = ["llama", "mistral", "gpt2"]
EVERY = [name for name in _BUILDERS if name != "opt"]


def tokens(length=9, seed=0):
    return torch.randint(2, 50, (2, length), generator=torch.Generator().manual_seed(seed))


def inputs_of(name, padded=False):
    """What a model is called with; padded: the last tokens of the second sequence are not real."""
    if name == "vit":
        return {"pixel_values": torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))}
    inputs = {"input_ids": tokens()}
    if padded:
        inputs["attention_mask"] = torch.ones(2, 9, dtype=torch.long)
        inputs["attention_mask"][1, 6:] = 0
    if name == "t5":
        inputs["decoder_input_ids"] = tokens(5, seed=1)
    return inputs
