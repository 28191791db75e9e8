"""What AReaL's Archon engine does with settings: its own configuration classes, its split into stages, the schedule object that it builds,
and the microbatches that it makes of a batch."""
import contextlib
import io
import types

import torch
from omegaconf import OmegaConf
from torch.distributed.device_mesh import init_device_mesh

with contextlib.redirect_stdout(io.StringIO()):  # its loggers greet there
    from areal.api.alloc_mode import ModelAllocation
    from areal.api.cli_args import ArchonEngineConfig, TrainEngineConfig, to_structured_cfg
    from areal.experimental.engine import archon_engine
    from areal.experimental.models.archon import pipeline_parallel as pipelining
    from areal.experimental.models.archon import utils
    from areal.experimental.models.archon.parallel_dims import ArchonParallelDims

import ranks
import torch_classes

WHERE = "actor."


def configured(settings):
    """The engine's configuration, of keys and values or of a tree. Raises what AReaL raises, and ValueError for a name that is not among
    its documented choices."""
    nested = OmegaConf.create({"experiment_name": "e", "trial_name": "t", "path": "model"})
    for key, value in settings.items():
        OmegaConf.update(nested, key.removeprefix(WHERE), value)
    config = OmegaConf.to_object(to_structured_cfg(nested, TrainEngineConfig))
    allowed = ArchonEngineConfig.__dataclass_fields__["pp_schedule"].metadata["choices"]
    if config.archon.pp_schedule not in allowed:
        raise ValueError(f"pp_schedule {config.archon.pp_schedule} is none of {', '.join(allowed)}")
    return config


def degree_of(config):
    return ModelAllocation.from_str(config.backend, name="actor").parallel.pipeline_parallel_size


def model_of(layers):
    """As much of a decoder as is split, on the device on which AReaL wants it."""
    model = torch.nn.Module()
    with torch.device("meta"):
        model.tok_embeddings, model.norm, model.output = (torch.nn.Linear(1, 1) for _ in range(3))
        model.layers = torch.nn.ModuleDict({str(layer): torch.nn.Linear(1, 1) for layer in range(layers)})
    model.model_args = types.SimpleNamespace(n_layers=layers)
    return model


def spread(pp, tp, cp, dp, ep, heads, kv_heads):
    """Deals the ranks out as Archon does, and attention heads over them. Raises what AReaL raises."""
    parallel = ModelAllocation.from_str(f"archon:d{dp}p{pp}t{tp}c{cp}e{ep}", name="actor").parallel
    ArchonParallelDims(dp_shard=parallel.data_parallel_size, tp=parallel.tensor_parallel_size, cp=parallel.context_parallel_size,
                       pp=parallel.pipeline_parallel_size, ep=parallel.expert_parallel_size, etp=parallel.expert_tensor_parallel_size,
                       world_size=parallel.world_size, device_type="cpu")
    model = types.SimpleNamespace(n_heads=heads, n_kv_heads=kv_heads)
    utils.validate_tp_constraints(model, tp)
    utils.validate_cp_constraints(model, cp, tp)


def take_type(name):
    """Raises what the engine raises for a model of another type."""
    engine = types.SimpleNamespace(model_config=types.SimpleNamespace(model_type=name))
    archon_engine.ArchonEngine._validate_model_type(engine)  # pylint: disable=protected-access


def microbatches_of(config, stages_per_rank, sequences):
    """How many microbatches the engine makes of a rank's batch of `sequences`. Raises what AReaL raises."""
    engine = types.SimpleNamespace(
        enable_tree_training=False, config=config, parallel_dims=types.SimpleNamespace(pp_enabled=True, pp=degree_of(config), seq_len_divisor=1),
        pp_stages=[None] * stages_per_rank, param_dtype=torch.bfloat16, rank=0, logger=types.SimpleNamespace(info=lambda text: None),
        model_config=types.SimpleNamespace(hidden_size=64))
    batch = {"input_ids": torch.ones(sequences, 8, dtype=torch.long), "attention_mask": torch.ones(sequences, 8, dtype=torch.bool)}
    return len(archon_engine.ArchonEngine._prepare_mb_list(engine, batch).mbs)


def orders(config, microbatches, layers, each_rank=True):
    """(one row per rank, decoder layers of each stage, stages a rank). Without `each_rank` ranks whose order a
    rank before them knows are not built. Raises what AReaL raises."""
    degree = degree_of(config)
    rows, held = {}, {}
    for rank in range(degree):
        if rank in rows and not each_rank:
            continue
        with ranks.as_rank(rank, degree):
            mesh = init_device_mesh("cpu", (degree,), mesh_dim_names=("pp",))
            dims = types.SimpleNamespace(pp=degree, get_mesh=lambda name: mesh)
            stages, _, _, _ = pipelining.pipeline_llm(model_of(layers), torch.device("cpu"), dims, config.archon,
                                                      lambda part, dims: part)
            held.update({stage.stage_index: len(stage.submod.layers) for stage in stages})
            schedule = pipelining.build_pipeline_schedule(stages, config.archon.pp_schedule, microbatches, degree,
                                                          loss_fn=lambda output, target: output)
            rows.update(torch_classes.rows_of(schedule, degree))
    return [rows[rank] for rank in range(degree)], [held[stage] for stage in sorted(held)], len(stages)
