"""Tiny models of any family of transformers: a field of its config that is a size gets a small one, by its name.

>>> from transformers import Qwen3Config
>>> tiny_config(Qwen3Config, attention_dropout=0.1).hidden_size
32
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import torch

from tests.integrations.tiny_models import transformers

VOCABULARY = 64
#: ids from here on are special tokens, such as those of images, which a text does not contain
FIRST_SPECIAL = 48
HIDDEN, HEADS, HEAD = 32, 4, 8

#: what a name means for a number: the first that fits, and never more than the number that was there
_SIZES = [
    (re.compile(pattern), size)
    for pattern, size in [
        (r".*vocab_size.*|.*_vocab", VOCABULARY),
        (r".*max_position_embeddings|.*_positions|n_ctx|max_seq_len|(seq|context)_length", 64),
        (r"model_max_length|rel_extent|.*max_distance", 64),
        (r".*sliding_window(_size)?|.*window_size|attention_chunk_size|local_attention", 5),
        (r".*rope_head_dim|.*nope_head_dim|rotary_dim|d_rel", HEAD // 2),
        (r".*(head_dim|head_size|headdim|d_head)|dim_head|d_kv|kv_channels", HEAD),
        (r".*(key_value_heads|kv_heads|kv_n_heads)", 2),
        (r".*mamba.*heads", 2 * HIDDEN // HEAD),
        (r"mamba_d_ssm", 2 * HIDDEN),
        (r".*heads|.*n_head|num_query_groups", HEADS),
        (r".*index_topk.*|.*topk_blocks", 3),
        (r"index_block_size|block_size|.*chunk_(size|length)", 4),
        (r".*_rank|hc_lowrank|.*d_state|.*state_size|hidden_size_per_layer_input", HEAD),
        (r".*experts_per_tok(en)?|moe_top_?k|moe_k", 2),
        (r".*(local|routed|num)_experts|zero_expert_num", 4),
        (r".*shared_experts", 1),
        (r"n_group|num_expert_group|topk_group|o_groups|.*n_?groups", 1),
        (r".*(intermediate|feed_forward|mlp).*(size|dim).*|.*ffn_(dim|hidden_size)|d_?ff|d_inner|dim_ff", 48),
        (r"num_kv_shared_layers", 0),
        (r".*_layers?|num_layers_per_stack|num_blocks", 2),
        (r".*hidden_(size|dim).*|d_model|n_embd|.*emb(ed)?_dim|.*embedding_(size|dim)", HIDDEN),
        (r"dim|.*proj_dim|lru_width", HIDDEN),
        (r"image_size", 16),
        (r"(.*_)?patch_size", 4),
    ]
]
#: what a default may leave open though no model can be built without
_OPEN = re.compile(r"head_dim|num_experts_per_tok|n_(routed|shared)_experts|num_key_value_heads")
_TOKEN = re.compile(r".*(token_id|token_index)")

#: fields of one family that hang together in a way that their names do not show
_FAMILIES: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "blt": {"use_cache": False},
    "cohere_compass_text": {
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}
        }
    },
    "dbrx": {"attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8}},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "full_attention"], "num_hidden_layers": 3},
    "longcat_flash": {"head_dim": HEAD // 2},
    "mamba2": {"num_heads": 2 * HIDDEN // HEAD},
    "musicgen_decoder": {"num_codebooks": 1},
    "musicgen_melody_decoder": {"num_codebooks": 1},
    "qwen4_exp_text": {
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": HEAD,
        "indexer_budget": 4,
        "indexer_compress_ratio": 2,
    },
    "reformer": {"axial_pos_shape": (8, 8), "axial_pos_embds_dim": (HIDDEN // 2, HIDDEN // 2)},
    "xlm": {"causal": True},
    "xlstm": {"hidden_size": 128, "chunk_size": 16},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "num_hidden_layers": 4,
        "layers_block_type": ["linear_attention", "linear_attention", "hybrid", "hybrid"],
    },
}


class NotBuiltError(Exception):
    """Why a family has no tiny model."""


def tiny_config(config_class: type, **changes: Any) -> Any:
    """A config of this class, parts included, with small sizes and a layer of every kind that its default has.

    changes: fields for the config and for its parts; whoever does not have such a field goes without.
    """
    try:
        default = config_class()
    except Exception as error:
        raise NotBuiltError(f"{config_class.__name__} has no default: {_line(error)}") from error
    known = {field.name for field in dataclasses.fields(config_class)}
    values = dict(_values(default, changes))
    values |= {name: value for name, value in changes.items() if name in known}
    values |= _FAMILIES.get(config_class.model_type, {})
    try:
        return config_class(**values)
    except Exception as error:
        raise NotBuiltError(f"no tiny {config_class.__name__}: {_line(error)}") from error


def tiny_model(model_class: Any, config: Any, dtype: torch.dtype = torch.float64) -> Any:
    """A model in evaluation; in double precision, where rounding is nothing beside a real difference."""
    torch.manual_seed(0)
    try:
        # The experts' usual product is for lower precision only.
        model = model_class._from_config(_part(config, model_class), experts_implementation="eager")
    except Exception as error:
        raise NotBuiltError(f"no tiny {model_class.__name__}: {_line(error)}") from error
    return model.to(dtype).eval()


def _part(config: Any, model_class: Any) -> Any:
    """A model may be one part of what a config describes, such as the text."""
    parts = [config, *(getattr(config, name) for name in config.sub_configs)]
    return next((part for part in parts if isinstance(part, model_class.config_class)), config)


def _values(default: Any, changes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    layers, kinds = _layers(default)
    special = iter(range(VOCABULARY - 1, FIRST_SPECIAL - 1, -1))
    for field in dataclasses.fields(default):
        name, value = field.name, _value(default, field.name)
        if isinstance(value, transformers.PreTrainedConfig):
            yield name, tiny_config(type(value), **changes)
        elif name in kinds:
            yield name, type(value)(_smaller(default, name, value[layer]) for layer in layers)
        elif isinstance(value, dict) and value and all(type(each) is int for each in value.values()):
            yield name, {key: min(each, 4) for key, each in value.items()}
        elif type(value) is int and _TOKEN.fullmatch(name):
            yield name, value if value < 4 else next(special)
        elif type(value) is int and name == "num_hidden_layers":
            yield name, len(layers)
        elif type(value) is int and field.default is not None:  # else it follows from others
            yield name, _smaller(default, name, value)
        elif value is None and _OPEN.fullmatch(name):
            yield name, _size(default, name)


def _layers(default: Any) -> tuple[list[int], list[str]]:
    """Numbers of some layers, at least two, that show every kind there is; and the fields with an entry per layer."""
    number = getattr(default, "num_hidden_layers", None)
    number = number if type(number) is int else 0
    kinds = [
        field.name
        for field in dataclasses.fields(default)
        if isinstance(value := _value(default, field.name), list | tuple)
        and len(value) == number
        and list(value) != list(range(number))  # numbers of layers, not kinds
    ]
    seen: set[tuple[str, str]] = set()
    chosen = []
    for layer in range(number):
        new = {(name, str(_value(default, name)[layer])) for name in kinds} - seen
        if new:
            chosen.append(layer)
            seen |= new
    while len(chosen) < min(2, number):
        chosen.append(len(chosen))
    return chosen, kinds


def _value(default: Any, name: str) -> Any:
    """What a field holds; asked for by its attribute, one that differs between layers would be refused."""
    return vars(default).get(default.attribute_map.get(name, name))


def _smaller(default: Any, name: str, value: Any) -> Any:
    size = _size(default, name)
    return value if size is None or type(value) is not int else min(value, size)


def _size(default: Any, name: str) -> int | None:
    if name == "num_key_value_heads" and _value(default, name) == _value(default, "num_attention_heads"):
        return HEADS  # not grouped, which some models rely on
    return next((size for pattern, size in _SIZES if pattern.fullmatch(name)), None)


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
