"""What torchtitan does with settings: its own parser and checks, its split into stages, and the schedule object that it builds."""
import contextlib
import io
import types

import torch
from torchtitan.config import ConfigManager
from torchtitan.distributed import ParallelDims
from torchtitan.distributed import pipeline_parallel as pipelining

import ranks
import torch_classes

MODEL = ("--module", "llama3", "--config", "llama3_debugmodel")


def words_of(settings):
    """Settings, key to value, as torchtitan's command line takes them: a list is one word per item, a list within a list commas."""
    words = []
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        if isinstance(value, bool):
            words.append(f"--{section}.{'' if value else 'no-'}{name}")
        elif isinstance(value, list):
            words += [f"--{key}", *(",".join(item) if isinstance(item, list) else str(item) for item in value)]
        else:
            words += [f"--{key}", str(value)]
    return words


def configured(words, model=MODEL):
    """The configuration of `model`. Raises what torchtitan raises; its parser's SystemExit becomes a ValueError."""
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        try:
            return ConfigManager().parse_args([*model, *words])
        except SystemExit as stop:
            raise ValueError(" ".join(silent.getvalue().split())) from stop


def parts_of(layers):
    """Names of the modules of each stage, of `layers` decoder layers each."""
    parts, next_layer = [], 0
    for count in layers:
        parts.append([f"layers.{layer}" for layer in range(next_layer, next_layer + count)])
        next_layer += count
    parts[0].insert(0, "tok_embeddings")
    parts[-1] += ["norm", "lm_head"]
    return parts


def model_of(layers):
    """As much of a decoder as is split: what stands for a module has no weights."""
    model = torch.nn.Module()
    model.tok_embeddings = torch.nn.Identity()
    model.layers = torch.nn.ModuleDict({str(layer): torch.nn.Identity() for layer in range(layers)})
    model.norm, model.lm_head = torch.nn.Identity(), torch.nn.Identity()
    return model


def world_of(config):
    degrees = config.parallelism
    shard = degrees.data_parallel_shard_degree
    return (degrees.pipeline_parallel_degree * degrees.tensor_parallel_degree * degrees.context_parallel_degree *
            degrees.data_parallel_replicate_degree * (shard if shard > 0 else 1))


def spread(pp, tp, cp, dp, ep, replicas):
    """The number that the tokens of a sample have to be a multiple of. Raises what torchtitan's meshes raise."""
    degrees = configured(words_of({
        "training.disable_cuda_graphs": True, "parallelism.pipeline_parallel_degree": pp, "parallelism.tensor_parallel_degree": tp,
        "parallelism.context_parallel_degree": cp, "parallelism.expert_parallel_degree": ep,
        "parallelism.data_parallel_replicate_degree": dp if replicas else 1,
        "parallelism.data_parallel_shard_degree": 1 if replicas else dp})).parallelism
    world = pp * tp * cp * dp
    dims = ParallelDims.from_config(degrees, world)
    with ranks.as_rank(0, world):
        dims.build_mesh()
    return dims.tp * (2 * dims.cp if dims.cp > 1 else 1)  # its trainer's check, of sequence parallelism


class StagesLeftOut(ValueError):
    """The schedule object of a rank was given fewer stages than the rank builds, without a word."""


def built(config, layers, rank):
    """({rank: ops}, {stage: its decoder layers} of this rank, microbatches) that a rank of the pipeline builds. Raises what torchtitan
    raises."""
    degree = config.parallelism.pipeline_parallel_degree
    world = world_of(config)
    with ranks.as_rank(rank * (world // degree), world):
        dims = ParallelDims.from_config(config.parallelism, world)
        dims.build_mesh()
        schedule, parts, _, _ = pipelining.pipeline_llm(
            model_of(layers), parallel_dims=dims, training=config.training, parallelism=config.parallelism, compile_config=config.compile,
            ac_config=config.activation_checkpoint, dump_folder="", device=torch.device("cpu"),
            model_config=types.SimpleNamespace(layers=range(layers)), parallelize_fn=lambda part, **options: part,
            loss_fn=lambda output, target: (output, None))
        stages = schedule._stages if hasattr(schedule, "_stages") else [schedule._stage]
        if len(stages) < len(parts):
            raise StagesLeftOut(f"rank {rank} builds {len(parts)} stages and runs {len(stages)}")
        held = {stage.stage_index: len(stage.submod.layers) for stage in stages}
        return torch_classes.rows_of(schedule, degree), held, schedule._n_microbatches


def orders(config, layers, each_rank=True):
    """(one row per rank, decoder layers of each stage, microbatches). Without `each_rank` ranks whose order a
    rank before them knows are not built. Raises what torchtitan raises."""
    degree = config.parallelism.pipeline_parallel_degree
    rows, held, counts = {}, {}, set()
    for rank in range(degree):
        if rank in rows and not each_rank:
            continue
        known, mine, microbatches = built(config, layers, rank)
        rows.update(known)
        held.update(mine)
        counts.add(microbatches)
    return [rows[rank] for rank in range(degree)], [held[stage] for stage in sorted(held)], counts.pop()
