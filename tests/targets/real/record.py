"""Records what frameworks take: sizes, classes of refusals, and hashes of the orders that they run.

    record.py torch|megatron|torchtitan|areal FOLDER       writes FOLDER/<framework>.json, one case per line
"""
import importlib.metadata
import json
import os
import sys

import replaced

replaced.install()

import orders as texts  # noqa: E402

DATE = "2026-11-30"
RANKS = (2, 3, 4, 8)


def microbatches_with(p):
    return range(2, 3 * p + 2)


SIZES = [(p, m) for p in RANKS for m in microbatches_with(p)]
CHUNKS = (1, 2, 3, 4)


def verdict(rows_of, *arguments, **options):
    """{"sha256": of the order} or {"refused": class of the exception}."""
    try:
        return {"sha256": texts.digest(rows_of(*arguments, **options))}
    except (ValueError, RuntimeError, AssertionError) as refusal:
        return {"refused": type(refusal).__name__}


# How a model of experts is spread over tensor, context, data and expert ranks; ep divides the product of the others.
SPREADS = [(tp, cp, dp, ep) for tp in (1, 2, 4) for cp in (1, 2, 4) for dp in (1, 2, 8) for ep in (1, 2, 4, 8) if tp * cp * dp % ep == 0]


def spread_cases(take, **more):
    """`take(tp, cp, dp, ep)` raises what the framework raises."""
    for tp, cp, dp, ep in SPREADS:
        yield {"tp": tp, "cp": cp, "dp": dp, "ep": ep, **more, **taken(lambda: take(tp, cp, dp, ep))}


def taken(act):
    """{"taken": true, ..what it returned} or {"refused": class of the exception}."""
    try:
        return {"taken": True, **(act() or {})}
    except (ValueError, RuntimeError, AssertionError) as refusal:
        return {"refused": type(refusal).__name__}


def torch_cases():
    import torch_classes
    names = {**dict.fromkeys(torch_classes.SINGLE_CLASSES, (1,)), **dict.fromkeys(torch_classes.LOOPED_CLASSES, CHUNKS),
             **dict.fromkeys(torch_classes.V_CLASSES, (1, 2, 3))}
    for name, chunks in names.items():
        for p, m in SIZES:
            for v in chunks:
                yield {"schedule": name, "p": p, "m": m, "v": v, **verdict(torch_classes.orders, name, p, m, v)}


def megatron_cases():
    import megatron_core
    for p, m in SIZES:
        yield {"p": p, "m": m, "v": 1, **verdict(megatron_core.orders, p, m, 1)}
        for v in CHUNKS[1:]:
            for group_size in range(max(1, p - 1), m + 2):
                case = {"p": p, "m": m, "v": v, "group_size": group_size}
                yield {**case, **verdict(megatron_core.orders, p, m, v, group_size)}
                if v == 2:
                    yield {**case, "overlapped": True, **verdict(megatron_core.orders, p, m, v, group_size, True)}
    for p in RANKS:
        for v in CHUNKS:
            for layers in sorted({p * v, 2 * p * v, p * v + 1, p * v + p, 2 * p}):
                words = ["--pipeline-model-parallel-size", str(p), "--num-virtual-stages-per-pipeline-rank", str(v), "--num-layers",
                         str(layers), "--micro-batch-size", "1", "--global-batch-size", str(2 * p)]
                yield {"p": p, "v": v, "layers": layers, **split(words, p)}


    for cp, sequence in ((1, 4097), (2, 4096), (2, 4098), (4, 4096), (4, 4100)):
        words = ["--pipeline-model-parallel-size", "2", "--num-layers", "2", "--micro-batch-size", "1", "--global-batch-size", "4",
                 "--context-parallel-size", str(cp), "--seq-length", str(sequence)]
        yield {"cp": cp, "sequence": sequence, **split(words, 2 * cp)}


    yield from sharding_cases()
    for module, words in (("moe_act", ()), ("moe_act", ("--moe-grouped-gemm",)), ("layernorm", ()), ("mlp", ())):
        told = ["--recompute-granularity", "selective", "--recompute-modules", module, *words]
        yield {"arguments": " ".join(told), **taken(lambda: accept([*told, *EXPERTS], 8))}
    for tp, cp in ((1, 1), (2, 1), (1, 2)):
        for environment in ({}, {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}):
            words = ["--tensor-model-parallel-size", str(tp), "--context-parallel-size", str(cp)]
            yield {"tp": tp, "cp": cp, "environment": environment, **taken(lambda: accept(words, 4, environment))}
    for method in ("block", "uniform"):
        for layers in (4, 8):
            for number in (1, 2, 3, 7, 8, 9):
                words = ["--recompute-granularity", "full", "--recompute-method", method, "--recompute-num-layers", str(number)]
                yield {"words": words, "stage_layers": layers, **again(words, layers)}
    for words in (["--recompute-granularity", "full"], ["--recompute-granularity", "full", "--recompute-num-layers", "2"],
                  ["--recompute-granularity", "full", "--recompute-method", "block"],
                  ["--recompute-granularity", "selective", "--recompute-num-layers", "2"]):
        yield {"words": words, "stage_layers": 4, **again(words, 4)}


EXPERTS = ["--num-experts", "8", "--moe-router-topk", "2"]
STRATEGIES = {2: "optim_grads", 3: "optim_grads_params"}


def sharding_cases():
    """Megatron-FSDP: what it has to be told, without a pipeline and beside one."""
    fsdp = "--use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy {} --ckpt-format {}"
    for zero, strategy in STRATEGIES.items():
        for pp, tp, cp, dp, ep in ((1, 1, 1, 8, 1), (1, 2, 1, 4, 1), (1, 1, 4, 2, 1), (1, 1, 1, 8, 8), (1, 2, 2, 2, 8), (2, 1, 1, 4, 1)):
            degrees = {"zero": zero, "pp": pp, "tp": tp, "cp": cp, "dp": dp, "ep": ep}
            yield sharding_case(degrees, fsdp.format(strategy, "fsdp_dtensor"), {})
        yield sharding_case({**degrees, "pp": 1}, fsdp.format(strategy, "torch_dist"), {})
        yield sharding_case({**degrees, "pp": 1}, fsdp.format(strategy, "fsdp_dtensor"), {"CUDA_DEVICE_MAX_CONNECTIONS": "1"})


def sharding_case(degrees, told, environment):
    names = {"pp": "pipeline", "tp": "tensor", "ep": "expert"}
    words = [*told.split(), "--context-parallel-size", str(degrees["cp"])]
    for key, name in names.items():
        words += [f"--{name}-model-parallel-size", str(degrees[key])]
    if degrees["tp"] > 1:
        words.append("--sequence-parallel")
    if degrees["ep"] > 1:
        words += [*EXPERTS, "--expert-tensor-parallel-size", "1"]
    world = degrees["pp"] * degrees["tp"] * degrees["cp"] * degrees["dp"]
    return {**degrees, "arguments": told, "environment": environment, **taken(lambda: accept(words, world, environment))}


def accept(words, world, environment=None):
    """Raises what Megatron raises. The sharding that it makes of the arguments, where it is FSDP's."""
    import megatron_core
    parsed = megatron_core.arguments(["--num-layers", "4", "--micro-batch-size", "1", "--global-batch-size", str(8 * world), *words], world,
                                     environment)
    megatron_core.config_of(parsed)
    return {"strategy": megatron_core.sharding_of(parsed)} if parsed.use_megatron_fsdp else {}


def again(words, layers):
    import megatron_core
    return taken(lambda: {"run_again": megatron_core.run_again(words, layers)})


def split(words, world):
    import megatron_core
    try:
        return {"layers_per_stage": megatron_core.layers_of(megatron_core.config_of(megatron_core.arguments(words, world)))}
    except (ValueError, RuntimeError, AssertionError) as refusal:
        return {"refused": type(refusal).__name__}


def torchtitan_cases():
    import titan
    import torch_classes
    for name in torch_classes.SINGLE_CLASSES + torch_classes.LOOPED_CLASSES + torch_classes.V_CLASSES:
        for p in RANKS:
            for v in (1, 2, 3):
                config = titan.configured(titan.words_of({
                    "training.disable_cuda_graphs": True, "parallelism.pipeline_parallel_degree": p,
                    "parallelism.data_parallel_shard_degree": 1, "parallelism.pipeline_parallel_schedule": name,
                    "parallelism.module_fqns_per_model_part": titan.parts_of([1] * (p * v))}))
                for m in microbatches_with(p):
                    config.training.local_batch_size = m
                    yield {"schedule": name, "p": p, "m": m, "v": v, **verdict(lambda: titan.orders(config, p * v, each_rank=False)[0])}
    for replicas in (False, True):
        yield from spread_cases(lambda *degrees: {"sequence_multiple": titan.spread(2, *degrees, replicas)}, replicas=replicas)
    yield from titan_model_cases()
    plain = {"training.local_batch_size": 8, "parallelism.pipeline_parallel_degree": 4, "parallelism.data_parallel_shard_degree": 1}
    for said in ({}, {"training.disable_cuda_graphs": True}, {"training.disable_cuda_graphs": True, "compile.enable": False},
                 {"training.disable_cuda_graphs": True, "parallelism.pipeline_parallel_microbatch_size": 3},
                 {"training.disable_cuda_graphs": True, "parallelism.pipeline_parallel_stages_per_rank": 2}):
        yield {"settings": {**plain, **said}, **verdict(lambda: titan.orders(titan.configured(titan.words_of({**plain, **said})), 48)[0])}


def titan_model_cases():
    """Models of its own: what context ranks and a pipeline can be of, and which samples context ranks can share out."""
    import titan
    for attention in ("flex", "varlen"):
        for cp in (1, 2):
            config = lambda: titan.spread_model("llama3", "debugmodel", 1, cp, attn_backend=attention)
            yield {"attention": attention, "cp": cp, **taken(lambda: titan.construct(config(), 0))}
    for layers in (0, 1):
        for pp, cp in ((1, 1), (2, 1), (1, 2)):
            config = lambda: titan.spread_model("deepseek_v3", "debugmodel", pp, cp, num_mtp_layers=layers)
            yield {"mtp": layers, "pp": pp, "cp": cp, **taken(lambda: titan.construct(config(), 0))}
    for cp in (2, 4):
        for sequence in (4096, 4096 + 128, 4096 + 2 * cp, 4096 + 128 * cp, 4096 + 64 * cp):
            yield {"cp": cp, "sequence": sequence, **taken(lambda: titan.share_out(sequence, cp))}


def areal_cases():
    import archon
    for name, chunks in {"1F1B": (1, 2), "Interleaved1F1B": CHUNKS, "InterleavedZeroBubble": CHUNKS, "ZBVZeroBubble": (1, 2, 3)}.items():
        for p in RANKS:
            for v in chunks:
                settings = {"actor.backend": f"archon:p{p}", "actor.archon.pp_schedule": name, "actor.archon.pp_layers_per_stage": 2}
                config = archon.configured(settings)
                for m in microbatches_with(p):
                    config.mb_spec.n_mbs = m
                    case = {"schedule": name, "p": p, "m": m, "v": v}
                    case.update(verdict(lambda: archon.orders(config, m, layers=2 * p * v - 2, each_rank=False)[0]))
                    yield {**case, **({"made": microbatches_made(archon, config, v, m)} if "sha256" in case else {})}
    for heads, kv_heads in ((32, 4), (28, 4), (12, 12)):
        yield from spread_cases(lambda *degrees: archon.spread(2, *degrees, heads, kv_heads), heads=heads, kv_heads=kv_heads)
    for name in ("qwen2", "qwen3", "qwen3_moe", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text", "qwen2_moe", "qwen3_next", "llama",
                 "mixtral", "deepseek_v3", "gemma3", "gpt_oss", "glm4_moe"):
        yield {"model_type": name, **taken(lambda: archon.take_type(name))}
    for name in ("GPipe", "LoopedBFS", "DualPipeV"):
        settings = {"actor.backend": "archon:p4", "actor.archon.pp_schedule": name}
        yield {"settings": settings, **verdict(lambda: archon.orders(archon.configured(settings), 8, 48)[0])}


def microbatches_made(archon, config, v, m):
    """Microbatches that the engine makes of a batch of m sequences when it is told m, by algorithm of packing; or how it refuses."""
    made = {}
    for packing in ("ffd", "kk"):
        config.mb_spec.packing_algorithm = packing
        try:
            made[packing] = archon.microbatches_of(config, v, m)
        except RuntimeError as refusal:
            made[packing] = type(refusal).__name__
    return made


FRAMEWORKS = {"torch": ("torch", torch_cases), "megatron": ("megatron-core", megatron_cases),
              "torchtitan": ("torchtitan", torchtitan_cases), "areal": ("areal", areal_cases)}


def main():
    framework, folder = sys.argv[1:]
    package, cases = FRAMEWORKS[framework]
    head = {"format": "target-verdicts/1", "package": package, "version": importlib.metadata.version(package).partition("+")[0],
            "torch": importlib.metadata.version("torch").partition("+")[0], "date": DATE}
    lines = ",\n".join(json.dumps(case) for case in cases())
    with open(os.path.join(folder, f"{framework}.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
