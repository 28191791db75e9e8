"""Records configurations as transformers of version 5 saves them, with what it counts: tests/golden/models/more_5.24.jsonl.

    record_models_5.py FILE TYPE...      run by a Python that has torch and transformers 5.24.0

For each type its class's defaults with a few layers, and small models with ties thrown, with biases thrown, and with other heads and experts. `architectures` names the class
where one type has two.
"""
import copy
import json
import re
import sys

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

from record_models_4 import runs

FEW = {"num_hidden_layers": 6, "decoder_layers": 3, "num_layers": 4, "n_layers": 4, "num_kv_shared_layers": 1}
SMALL = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 1000, "moe_intermediate_size": 96,
         "d_model": 256, "decoder_attention_heads": 8, "decoder_ffn_dim": 384, "ffn_hidden_size": 512, "expert_ffn_hidden_size": 96, "type_vocab_size": 3,
         "max_position_embeddings": 128, "n_routed_experts": 8, "num_experts": 8, "num_local_experts": 8, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
SWITCHES = {"tied": ("tie_word_embeddings",),
            "biased": ("attention_bias", "use_bias", "mlp_bias", "qkv_bias", "classifier_bias", "decoder_bias", "bias", "use_qkv_bias", "projector_bias")}
OTHER = {"num_key_value_heads": 2, "head_dim": 48, "v_head_dim": 40, "q_lora_rank": 72, "kv_lora_rank": 48, "qk_nope_head_dim": 24, "qk_rope_head_dim": 16,
         "index_head_dim": 24, "index_n_heads": 3, "n_shared_experts": 2, "num_shared_experts": 2, "zero_expert_num": 3, "use_task_id": True, "is_decoder": True,
         "linear_head_dim": 24, "linear_num_heads": 5, "global_attn_every_n_layers": 2, "attention_type": "original_full", "num_experts_per_tok": 2, "moe_topk": 3}

# Of types whose classes refuse some of the sizes above.
OWN = {"glm5_next": {"num_key_value_heads": 8, "qk_rope_head_dim": 0}, "qwen4_exp": {"num_experts_per_tok": 2, "indexer_n_heads": 4, "indexer_head_dim": 256,
                     "indexer_kv_heads": 1, "indexer_budget": 64, "indexer_compress_ratio": 8}}


def changed(config_class, sizes):
    """A configuration with these sizes, in its text part where it has one."""
    usual = config_class().to_dict()
    known = {key: value for key, value in sizes.items() if key in usual}
    if isinstance(usual.get("text_config"), dict):
        text = usual["text_config"]
        inner = {key: value for key, value in sizes.items() if key in text and key != "tie_word_embeddings"}
        known["text_config"] = {"model_type": text.get("model_type"), **inner} if text.get("model_type") else inner
    return config_class(**copy.deepcopy(known))


def configurations(model_type):
    """Names and sizes of variants."""
    config_class = CONFIG_MAPPING[model_type]
    usual = config_class().to_dict()
    text = usual.get("text_config") if isinstance(usual.get("text_config"), dict) else usual
    own = OWN.get(model_type, {})
    yield "few", {**FEW, **own}
    small = {key: value for key, value in SMALL.items() if key.endswith("_token_id") or isinstance({**usual, **text}.get(key), int)}
    small |= own
    yield "small", {**FEW, **small}
    for name, switches in SWITCHES.items():
        thrown = {key: not {**text, **usual}[key] for key in switches if isinstance({**text, **usual}.get(key), bool)}
        if thrown:
            yield name, {**FEW, **small, **thrown}
    yield "other", {**FEW, **small, **OTHER, **own}


def class_of(kind, config):
    mapping = MODEL_FOR_CAUSAL_LM_MAPPING if kind == "causal" else MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    found = mapping[type(config)]
    return found[0] if isinstance(found, tuple) else found


def record_of(kind, model_type, variant, config):
    with torch.device("meta"):
        model = class_of(kind, config)(config)
    model.tie_weights()
    saved = json.loads(model.config.to_json_string(use_diff=False))
    lists = {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList) and re.search(r"(layers|layer|blocks|block|h)$", name)}
    lists = {name: module for name, module in lists.items() if not re.search(r"\.\d+\.", name)}
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings()
    saved["architectures"] = [type(model).__name__]
    return {"kind": kind, "type": model_type, "variant": variant, "config": saved, "parameters": sum(each.numel() for each in model.parameters()),
            "layers": {name: runs(sum(each.numel() for each in layer.parameters()) for layer in module) for name, module in lists.items()},
            "embedding": [list(embedding.shape)], "tied": head is not None and head.weight is embedding}


def main():
    assert transformers.__version__ == "5.24.0", transformers.__version__
    transformers.logging.set_verbosity_error()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for model_type in sys.argv[2:]:
            for kind, mapping in (("causal", MODEL_FOR_CAUSAL_LM_MAPPING), ("itt", MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING)):
                if CONFIG_MAPPING[model_type] not in mapping:
                    continue
                for variant, sizes in configurations(model_type):
                    try:
                        record = record_of(kind, model_type, variant, changed(CONFIG_MAPPING[model_type], sizes))
                    except Exception as error:  # pylint: disable=broad-except
                        print(model_type, variant, "is not built by the library:", str(error)[:120])
                        continue
                    file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
