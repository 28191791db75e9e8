"""Every causal and image-text architecture of transformers: a configuration that the library builds, and what its model is called with.

Facts of transformers 5.24.0. A class's defaults do, but for those below: SETTINGS completes defaults that build or run no model, CALLS says what is needed
beside token ids.
"""
from __future__ import annotations

from typing import Any, Callable

import torch

SEQ = 256

_COMPASS = {"rope_parameters": {kind: {"rope_theta": 10000.0, "rope_type": "default"} for kind in ("full_attention", "sliding_attention")}}
_QSA = {"indexer_budget": 64, "indexer_compress_ratio": 4, "indexer_head_dim": 256, "indexer_kv_heads": 1, "indexer_n_heads": 16}

# Keys that replace or complete the defaults, also inside of parts.
SETTINGS: dict[str, dict[str, Any]] = {
    "cohere_compass_text": _COMPASS,
    "cohere_compass": {"text_config": _COMPASS},
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "clip_qkv": 8.0}},
    "deepseek_v2": {"num_experts_per_tok": 6, "moe_intermediate_size": 1408},
    "deepseek_ocr2": {"text_config": {"num_experts_per_tok": 6, "moe_intermediate_size": 1408, "mlp_layer_types": ["dense"] + ["sparse"] * 11, "num_hidden_layers": 12}},
    "dots1": {"first_k_dense_replace": 1, "n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 16},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 8, "num_hidden_layers": 32},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 48},
    "qwen4_exp_text": _QSA,
    "qwen4_exp": {"text_config": _QSA},
    "reformer": {"is_decoder": True, "axial_pos_shape": [16, 16]},
    "aya_vision": {"vision_config": {"num_attention_heads": 16}},
    "gemma4_assistant": {"text_config": {"hidden_size_per_layer_input": 0}},
    "diffusion_gemma": {"text_config": {"num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 512}},
    "glm4v": {"text_config": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [16, 24, 24]}}},
    "glm46v": {"text_config": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [16, 24, 24]}}},
    "glmga": {"text_config": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [16, 24, 24]}}},
    "glm4v_moe": {"text_config": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "mrope_section": [4, 4, 3]}}},
    "hunyuan_vl": {"text_config": {"head_dim": 128, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "xdrope_section": [16, 16, 16, 16]}}},
    "qwen3_omni_moe_thinker": {"text_config": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [12, 13, 12]}}},
    "xmod": {"default_language": "en_XX"},
    "step3p7": {"text_config": {"sliding_window": 128}},
}
# Types whose own code mixes bfloat16 with float32.
FLOAT32 = {"xlnet", "xlstm"}


def configuration(cls: Any) -> Any:
    """The configuration of a class, completed."""
    given = SETTINGS.get(cls.model_type)
    return cls.from_dict(_merged(cls().to_dict(), given)) if given else cls()


def _merged(base: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for key, value in given.items():
        out[key] = _merged(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) else value
    return out


def _ids(seq: int = SEQ) -> torch.Tensor:
    return torch.full((1, seq), 5)


def _image(config: Any, size: int | None = None) -> torch.Tensor:
    vision = getattr(config, "vision_config", config)
    size = size or vision.image_size
    return torch.zeros(1, getattr(vision, "num_channels", 3), size, size, dtype=torch.bfloat16)


def _with_image(config: Any) -> dict[str, torch.Tensor]:
    return {"input_ids": _ids(64), "pixel_values": _image(config)}


def _queries(config: Any) -> dict[str, torch.Tensor]:
    return {**_with_image(config), "qformer_input_ids": _ids(16), "attention_mask": torch.ones(1, 64, dtype=torch.int64)}


# What a model is called with, by its type. Others take token ids.
CALLS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "musicgen": lambda config: {"input_ids": torch.full((4, SEQ), 5)},
    "musicgen_melody": lambda config: {"input_ids": torch.full((4, SEQ), 5)},
    "blip": _with_image,
    "blip-2": _with_image,
    "instructblip": _queries,
    "kosmos-2": lambda config: {**_with_image(config), "image_embeds_position_mask": torch.arange(64)[None] < 64},
    "idefics": lambda config: {"input_ids": _ids(), "pixel_values": _image(config)[:, None], "image_attention_mask": torch.ones(1, SEQ, 1, dtype=torch.int64)},
    "molmo2": lambda config: {"input_ids": _ids(), "mm_token_type_ids": torch.zeros(1, SEQ, dtype=torch.int64)},
    "pix2struct": lambda config: {"flattened_patches": torch.ones(1, 64, 770, dtype=torch.bfloat16), "decoder_input_ids": _ids(64)},
    "vision-encoder-decoder": lambda config: {"pixel_values": _image(config.encoder), "decoder_input_ids": _ids(64)},
    "pp_formulanet": lambda config: {"pixel_values": _image(config), "decoder_input_ids": _ids(64)},
    "t5gemma2": lambda config: {"input_ids": _ids(64), "decoder_input_ids": _ids(64)},
    "udop": lambda config: {"input_ids": _ids(64), "bbox": torch.zeros(1, 64, 4), "decoder_input_ids": _ids(64)},
}
