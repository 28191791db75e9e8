"""What torchtitan does with settings: its own parser and checks, its split into stages, and the schedule object that it builds."""
import contextlib
import dataclasses
import importlib
import io
import types
from unittest import mock

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import schedules
from torch.distributed.tensor.experimental._context_parallel import _attention
from torch.nn.attention.flex_attention import create_block_mask
from torchtitan.config import ConfigManager
from torchtitan.distributed import ParallelDims
from torchtitan.distributed import parallel_dims
from torchtitan.distributed import pipeline_parallel as pipelining
from torchtitan.distributed.context_parallel.api import cp_shard
from torchtitan.distributed.utils import set_spmd_backend

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
    return sequence_multiple(dims)


def sequence_multiple(dims):
    """Its trainer's check, of sequence parallelism."""
    return dims.tp * (2 * dims.cp if dims.cp > 1 else 1)


def pipeline_alone(config):
    """The configuration on one pipeline, whose ranks have the same stages and orders in a mesh that is quick to make."""
    degrees = dataclasses.replace(config.parallelism, tensor_parallel_degree=1, context_parallel_degree=1, expert_parallel_degree=1,
                                  data_parallel_replicate_degree=1, data_parallel_shard_degree=1)
    return dataclasses.replace(config, parallelism=degrees)


def debug_model(layers):
    """A function as torchtitan's registries have them, of its smallest model with as many layers."""
    from torchtitan.models.llama3.config_registry import llama3_debugmodel

    def own():
        config = llama3_debugmodel()
        config.model_spec.model.layers = config.model_spec.model.layers[:1] * layers
        return config
    return own


def own_model(package, name, size, options, flexible):
    """A function as torchtitan's registries have them, of a model of its own. `flexible`: with the attention that context ranks can share."""
    module = importlib.import_module(f"torchtitan.models.{package}")
    told = {**options, "attn_backend": "flex"} if flexible else options

    def own():
        config = getattr(importlib.import_module(f"torchtitan.models.{package}.config_registry"), name)()
        if config.model_spec.flavor != size or told:
            config.model_spec = module.model_registry(size, **told)
        return config
    return own


def spread_model(package, size, pp, cp, **options):
    """The configuration of a model over two ranks, or one."""
    config = configured(words_of({
        "training.disable_cuda_graphs": True, "training.seq_len": 1024, "training.local_batch_size": 4,
        "parallelism.pipeline_parallel_degree": pp, "parallelism.context_parallel_degree": cp,
        "parallelism.data_parallel_shard_degree": 1}), ("--module", package, "--config", f"{package}_debugmodel"))
    config.model_spec = importlib.import_module(f"torchtitan.models.{package}").model_registry(size, **options)
    return config


def share_out(tokens, ranks_of_context):
    """The tokens of a sample and FlexAttention's mask of them, for one of the context ranks. Raises what torchtitan raises."""
    with ranks.as_rank(0, ranks_of_context):
        mesh = init_device_mesh("cpu", (ranks_of_context,))
        mask = create_block_mask(lambda b, h, q, kv: q >= kv, 1, None, tokens, tokens, device="cpu")
        positions = torch.arange(tokens).unsqueeze(0)
        with mock.patch.object(_attention, "_compiled_create_block_mask", create_block_mask):
            cp_shard(mesh, (positions,), mask)


def construct(config, rank):
    """What its trainer does on a rank of the pipeline until the optimizer: the model without memory, its stages, and their parallel split.
    Raises what torchtitan raises."""
    ranks.in_child(lambda: construct_here(config, rank))


def construct_here(config, rank):
    degrees, world = config.parallelism, world_of(config)
    with ranks.as_rank(rank * (world // degrees.pipeline_parallel_degree), world), mock.patch.object(parallel_dims, "device_type", "cpu"):
        dims = ParallelDims.from_config(degrees, world)
        dims.build_mesh()
        multiple = sequence_multiple(dims)
        if config.training.seq_len % multiple != 0:
            raise ValueError(f"{config.training.seq_len} tokens, which are no multiple of {multiple}")
        set_spmd_backend(degrees.spmd_backend)
        spec = config.model_spec
        spec.model.update_from_config(config=config)
        with torch.device("meta"):
            model = spec.model.build()
        options = {"parallel_dims": dims, "training": config.training, "parallelism": degrees, "compile_config": config.compile,
                   "ac_config": config.activation_checkpoint, "dump_folder": ""}
        if degrees.pipeline_parallel_degree == 1:
            spec.parallelize_fn(model, **options)
        else:
            spec.pipelining_fn(model, device=torch.device("cpu"), model_config=spec.model, parallelize_fn=spec.parallelize_fn,
                               loss_fn=lambda output, target: (output, None), **options)


MOST_OPS = 8192  # of the forwards of all stages, whose messages PyTorch finds within seconds


@contextlib.contextmanager
def without_messages(is_wanted):
    """Schedules of one size without their sends and receives, which PyTorch makes of the same ops: 40 s on each rank for 32 ranks with 512
    microbatches."""
    with contextlib.ExitStack() as stack:
        if is_wanted:
            stack.enter_context(mock.patch.object(schedules._PipelineScheduleRuntime, "_prepare_schedule_with_comms",
                                                  lambda *arguments, **options: None))
            for kind in (schedules.ScheduleInterleaved1F1B, schedules.ScheduleInterleavedZeroBubble, schedules.ScheduleZBVZeroBubble):
                stack.enter_context(mock.patch.object(kind, "_calculate_single_rank_operations",
                                                      made_once(kind._calculate_single_rank_operations)))
        yield


def made_once(operations):
    """The ops of a rank, which every rank makes of all, made by the first one."""
    made = {}

    def remembered(schedule, rank):
        if rank not in made:
            made[rank] = operations(schedule, rank)
        return list(made[rank])
    return remembered


class StagesLeftOut(ValueError):
    """The schedule object of a rank was given fewer stages than the rank builds, without a word."""


def built(config, layers, rank, own):
    """({rank: ops}, {stage: its decoder layers} of this rank, microbatches) that a rank of the pipeline builds. `own`: ops of this rank alone.
    Raises what torchtitan raises."""
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
        return torch_classes.rows_of(schedule, degree, rank if own else None), held, schedule._n_microbatches


def orders(config, layers, each_rank=True):
    """(one row per rank, decoder layers of each stage, microbatches). Without `each_rank` ranks whose order a
    rank before them knows are not built. Raises what torchtitan raises."""
    degree = config.parallelism.pipeline_parallel_degree
    rows, held, counts = {}, {}, set()
    for rank in range(degree):
        if rank in rows and not each_rank:
            continue
        known, mine, microbatches = built(config, layers, rank, each_rank)
        rows.update(known)
        held.update(mine)
        counts.add(microbatches)
    return [rows[rank] for rank in range(degree)], [held[stage] for stage in sorted(held)], counts.pop()
