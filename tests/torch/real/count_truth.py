"""What pipeloom.torch.model counts against real runs on the CPU, and against the formulas of `pipeloom estimate`.

    count_truth.py kept               bytes that a layer's graph holds: small models of many families, eager and flash, with and without recomputation
    count_truth.py flops PIPELOOM     FLOPs per token of a configuration, by formula and counted
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
    "seed_oss": {},
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
# Types that `pipeloom estimate` reads, and what their formulas are compared with: the class's defaults, of these sizes.
FORMULAS = {
    "llama": {"num_key_value_heads": 8},
    "mistral": {"sliding_window": None},
    "qwen2": {"num_key_value_heads": 8},
    "qwen3": {"num_key_value_heads": 8},
    "mixtral": {"sliding_window": None},
    "qwen3_moe": {},
    "deepseek_v3": {},
    "gpt2": {"n_positions": 2048},
}


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


def compare_flops(pipeloom: str) -> int:
    """Prints FLOPs per token by formula and counted, both as `pipeloom estimate` says them; returns how many are more than 1 % off."""
    import transformers

    import pipeloom.torch as pt

    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, keys in FORMULAS.items():
            config = transformers.CONFIG_MAPPING[name](**keys)
            config.save_pretrained(folder)
            counted = f"{folder}/counted.json"
            pt.model(config, seq=2048).save(counted)
            formula, seen = (_flops_per_token(pipeloom, path) for path in (f"{folder}/config.json", counted))
            off = seen / formula - 1
            print(f"{name:12} formula {formula:.6e} counted {seen:.6e} off {100 * off:+.3f} %")
            wrong += abs(off) > 0.01
    return wrong


def _flops_per_token(pipeloom: str, model: str) -> float:
    command = [pipeloom, "estimate", model, "--hardware", "h100", "--ranks", "1", "--microbatches", "1", "--seq", "2048", "--json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(answer["flops_per_token"])


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
    sys.exit(min(1, compare_kept() if sys.argv[1] == "kept" else compare_flops(sys.argv[2])))
