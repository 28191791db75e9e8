"""Records configurations as transformers of version 4 saves them, with what it counts: tests/golden/models/transformers_4.57.jsonl.

    record_models_4.py FILE [TYPE...]      run by a Python that has torch and transformers 4.57

Model types of the families that docs/models.md reads and this version has: the class's defaults, a small model, and two small ones with ties and biases thrown.
A version 4 leaves out keys that have their class's default, so a reader has to know the defaults of that version too.
"""
import json
import pathlib
import sys
import tempfile

import torch
import transformers
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoModelForImageTextToText
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

TYPES = ("llama llama4_text llama4 qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe deepseek_v2 deepseek_v3 glm glm4 "
         "glm4_moe glm4v glm4v_moe gpt_oss mistral mistral3 mixtral gemma2 gemma3_text gemma3 gemma3n_text falcon_h1 jamba granitemoehybrid granite granitemoe "
         "olmo2 olmo3 olmoe minimax ernie4_5 ernie4_5_moe hunyuan_v1_dense hunyuan_v1_moe phi3 phimoe cohere cohere2 exaone4 smollm3 seed_oss").split()
SMALL = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 1000,
         "moe_intermediate_size": 96, "num_local_experts": 4, "num_experts": 4, "n_routed_experts": 8, "num_experts_per_tok": 2, "q_lora_rank": 64,
         "kv_lora_rank": 32, "shared_expert_intermediate_size": 128, "mamba_d_ssm": 512, "pad_token_id": 0}
# Sections of a model with a tower that its class builds no model without.
SECTIONS = {"qwen3_vl": {"text_config": {"rope_scaling": {"rope_type": "default", "mrope_section": [24, 20, 20]}}}}
SECTIONS["qwen3_vl_moe"] = SECTIONS["qwen3_vl"]
ODD = {"tied": ("tie_word_embeddings",), "biased": ("attention_bias", "use_bias", "mlp_bias", "qkv_bias")}


def configurations(model_type):
    config_class = CONFIG_MAPPING[model_type]
    sections = SECTIONS.get(model_type, {})
    yield "default", config_class(**sections)
    keys = config_class().to_dict()
    small = {key: value for key, value in SMALL.items() if isinstance(keys.get(key), int)}
    yield "small", config_class(**small, **sections)
    for name, switches in ODD.items():
        thrown = {key: not keys[key] for key in switches if isinstance(keys.get(key), bool)}
        if thrown:
            yield name, config_class(**small, **thrown, **sections)


def record_of(model_type, variant, config):
    with_tower = model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    auto = AutoModelForImageTextToText if with_tower else AutoModelForCausalLM
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        saved = json.loads((pathlib.Path(folder) / "config.json").read_text())
    with torch.device("meta"):
        model = auto.from_config(config)
    lists = {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList) and name.endswith("layers")}
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings()
    return {"type": model_type, "variant": variant, "config": saved, "parameters": sum(each.numel() for each in model.parameters()),
            "layers": {name: runs(sum(each.numel() for each in layer.parameters()) for layer in module) for name, module in lists.items()},
            "embedding": [list(embedding.shape)], "tied": head is not None and head.weight is embedding}


def runs(counts):
    out = []
    for count in counts:
        if out and out[-1][1] == count:
            out[-1][0] += 1
        else:
            out.append([1, count])
    return out


def main():
    assert transformers.__version__.startswith("4.57."), transformers.__version__
    transformers.logging.set_verbosity_error()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for model_type in sys.argv[2:] or TYPES:
            for variant, config in configurations(model_type):
                try:
                    record = record_of(model_type, variant, config)
                except Exception as error:  # pylint: disable=broad-except
                    print(model_type, variant, "is not built by the library:", str(error)[:120])
                    continue
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
