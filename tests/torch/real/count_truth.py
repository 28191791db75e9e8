"""What pipeloom.torch.model counts against real runs on the CPU, and against the formulas of `pipeloom estimate`.

    count_truth.py kept               bytes that a layer's graph holds: small models of many families, eager and flash, with and without recomputation
    count_truth.py flops PIPELOOM [TYPE ...]     FLOPs per token of a configuration, by formula and counted
    count_truth.py large              a model of 671e9 parameters: seconds of CPU and bytes of memory
"""
from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any, Iterator

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

SEQ = 128
_PLAIN = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32}
_PLAIN |= {"vocab_size": 512, "max_position_embeddings": 512, "pad_token_id": 0}
_ROUTED = {"num_experts": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
_LATENT = {"q_lora_rank": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 48, "n_routed_experts": 8}
_LATENT |= {"head_dim": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "num_key_value_heads": 4}
_HYBRID = {"mamba_d_state": 16, "mamba_d_head": 32, "mamba_n_heads": 8, "mamba_n_groups": 1, "mamba_d_ssm": 256, "mamba_chunk_size": 64}

# Small configurations: keys beside _PLAIN.
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {},
    "qwen2": {},
    "qwen3": {},
    "olmo2": {},
    "phi3": {},
    "cohere": {},
    "granite": {},
    "starcoder2": {},
    "seed_oss": {"attention_dropout": 0.0},  # 0.1 by its class, and the CPU has no flash kernel with dropout
    "smollm3": {},
    "stablelm": {},
    # Without windows: the CPU's kernel keeps one as a mask of S x S numbers, a GPU's has a number for it.
    "gemma3_text": {"layer_types": ["full_attention", "full_attention"]},
    "mixtral": _ROUTED,
    "qwen3_moe": _ROUTED,
    "gpt_oss": {**_ROUTED, "layer_types": ["sliding_attention", "full_attention"]},
    "glm4_moe": {**_ROUTED, "n_routed_experts": 8, "first_k_dense_replace": 1},
    "deepseek_v3": _LATENT,
    "bamba": {**_HYBRID, "attn_layer_indices": [1]},
    "falcon_h1": _HYBRID,
    "gpt2": {"n_embd": 128, "n_layer": 2, "n_head": 4, "n_positions": 512, "resid_pdrop": 0.0, "attn_pdrop": 0.0, "embd_pdrop": 0.0},
}
# Types that `pipeloom estimate` reads, with the defaults of their classes.
FORMULAS = """llama mistral ministral3 mixtral qwen2 qwen2_moe qwen3 qwen3_moe deepseek_v2 deepseek_v3 kimi_k2 glm glm4 glm4_moe minimax_m2 ernie4_5 ernie4_5_moe
hunyuan_v1_dense hunyuan_v1_moe gemma gemma3_text granite granitemoe olmo olmo2 olmo3 olmoe phi phi3 phimoe cohere cohere2 exaone4 smollm3 seed_oss starcoder2
stablelm nemotron arcee gpt2 gpt_neox""".split()
# Those whose scans transformers runs in plain torch: what a fused kernel multiplies is not what is counted.
FALLBACKS = "nemotron_h falcon_h1 bamba qwen3_next".split()
FORMULA_SEQ = 1024


def small(name: str) -> Any:
    import transformers

    return transformers.CONFIG_MAPPING[name](**{**_PLAIN, **FAMILIES[name]})


def truth(name: str, attention: str, recomputed: bool) -> Iterator[tuple[str, int]]:
    """Class of each layer and the bytes that its graph alone keeps alive, in a real run: whatever was made inside and is still there when nothing but
    the gradient function is held."""
    import torch
    import transformers

    config = small(name)
    config.use_cache = False
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation=attention).train()
    layers = next(item for item in model.modules() if isinstance(item, torch.nn.ModuleList) and len(item) == config.num_hidden_layers)
    given: dict[int, Any] = {}
    for number, layer in enumerate(layers):
        layer.register_forward_pre_hook(lambda _, args, kwargs, n=number: given.update({n: (args, kwargs)}), with_kwargs=True)
    model(input_ids=torch.randint(1, 500, (1, SEQ)), use_cache=False)
    for number, layer in enumerate(layers):
        yield type(layer).__name__, _alive(layer, *given[number], recomputed)


def _alive(layer: Any, args: Any, kwargs: Any, recomputed: bool) -> int:
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten, tree_map
    from torch.utils.checkpoint import checkpoint

    made: dict[int, tuple[Any, int]] = {}

    def note(item: Any) -> None:
        storage = item.untyped_storage()
        made.setdefault(storage._cdata, (StorageWeakRef(storage), storage.nbytes()))

    class Made(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            for item in tree_flatten(out)[0]:
                if isinstance(item, torch.Tensor):
                    note(item)
            return out

    def own(item: Any) -> Any:
        """States as a copy that the graph alone may hold; what all layers share as it is."""
        return item.detach().requires_grad_().clone() if isinstance(item, torch.Tensor) and item.requires_grad else item

    kept = {item.untyped_storage()._cdata for item in [*layer.parameters(), *layer.buffers()]}
    kept |= {item.untyped_storage()._cdata for item in tree_flatten((args, kwargs))[0] if isinstance(item, torch.Tensor)}
    mine, named = tree_map(own, args), tree_map(own, kwargs)
    for item in tree_flatten((mine, named))[0]:
        if isinstance(item, torch.Tensor) and item.requires_grad:
            note(item)
    with Made():
        out = checkpoint(layer.forward, *mine, use_reentrant=False, **named) if recomputed else layer.forward(*mine, **named)
    functions = [item.grad_fn for item in tree_flatten(out)[0] if isinstance(item, torch.Tensor) and item.requires_grad]
    del out, mine, named
    gc.collect()
    bytes_alive = sum(size for key, (reference, size) in made.items() if not reference.expired() and key not in kept)
    assert functions
    return bytes_alive


def compare_kept() -> int:
    """Prints a row per family and way; returns how many are more than 1 % off."""
    import pipeloom.torch as pt

    wrong, families = 0, set()
    for name in FAMILIES:
        for attention in ("flash", "eager"):
            try:
                real = {recomputed: list(truth(name, {"flash": "sdpa", "eager": "eager"}[attention], recomputed)) for recomputed in (False, True)}
            except ValueError as error:  # a class without scaled_dot_product_attention
                print(f"{name:14} {attention:5} not in the library: {str(error)[:60]}")
                continue
            model = pt.model(small(name), seq=SEQ, attention=attention)
            off = max(abs(ours - alive) / alive for ours, alive in _pairs(model, real))
            families.add(name)
            kept = sorted({model.kind_of(layer).counted.kept for layer in range(len(model.layers))})
            print(f"{name:14} {attention:5} kept {kept}, real {sorted({alive for _, alive in real[False]})}, recomputed {real[True][0][1]}, off {100 * off:.3f} %")
            wrong += off > 0.01
    print(f"{len(families)} families, {wrong} more than 1 % off")
    return wrong


def _pairs(model: Any, real: dict[bool, list[tuple[str, int]]]) -> Iterator[tuple[int, int]]:
    for layer, (_, alive) in enumerate(real[False]):
        yield model.kind_of(layer).counted.kept, alive
    for layer, (_, alive) in enumerate(real[True]):
        yield model.kind_of(layer).counted.input_bytes, alive


def compare_flops(pipeloom: str, only: list[str]) -> int:
    """Prints FLOPs per token by the formulas of `pipeloom estimate` and counted; returns how many are more than 1 % off."""
    import transformers
    from model_types import configuration

    import pipeloom.torch as pt

    wrong = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in [*FORMULAS, *FALLBACKS]:
            if name not in transformers.CONFIG_MAPPING or (only and name not in only):
                continue
            config = configuration(transformers.CONFIG_MAPPING[name])
            if getattr(config, "num_nextn_predict_layers", 0):
                config.num_nextn_predict_layers = 0  # layers that no class builds
            config.save_pretrained(folder)
            formula, seen = _flops_per_token(pipeloom, f"{folder}/config.json"), pt.model(f"{folder}/config.json", seq=FORMULA_SEQ).flops_per_token
            off = seen / formula - 1
            scan = name in FALLBACKS
            print(f"{name:16} formula {formula:.6e} counted {seen:.6e} off {100 * off:+.3f} %{' (scans in plain torch, not held)' if scan else ''}", flush=True)
            compared += not scan
            wrong += not scan and abs(off) > 0.01
    print(f"{compared} types, {wrong} more than 1 % off")
    return wrong


def _flops_per_token(pipeloom: str, model: str) -> float:
    command = [pipeloom, "estimate", model, "--hardware", "h100", "--ranks", "1", "--microbatches", "1", "--seq", str(FORMULA_SEQ), "--limit", "1PB", "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.replace(model, "config.json"))
    return float(json.loads(done.stdout)["flops_per_token"])


def large() -> int:
    """DeepSeek-V3, in a process of its own: at most 8 s of CPU and 1 GB."""
    code = "import transformers, pipeloom.torch as pt; print(pt.model(transformers.DeepseekV3Config()).parameters)"
    start = time.time()
    print(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip(), "parameters")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.1f} s of CPU, {time.time() - start:.1f} s, {used.ru_maxrss / 1e6:.2f} GB")
    return int(used.ru_utime + used.ru_stime > 8 or used.ru_maxrss > 1e6)


if __name__ == "__main__":
    if sys.argv[1] == "large":
        sys.exit(large())
    sys.exit(min(1, compare_kept() if sys.argv[1] == "kept" else compare_flops(sys.argv[2], sys.argv[3:])))
