"""Runs what `pipeloom plan` prints to be pasted, as each framework would: the text itself, on every rank of the pipeline.

Each function returns (one row of ops per rank, decoder layers of each stage), and raises what the framework raises."""
import contextlib
import io
import os
import shlex
import sys
import types

import torch
import yaml

import archon
import megatron_core
import models
import ranks
import titan
import torch_classes


LAYERS_A_RANK = 12  # of a model whose layers the plan does not know


class OtherMicrobatches(ValueError):
    """The framework runs another number of microbatches than planned."""


@contextlib.contextmanager
def in_folder(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def joined(rows, held, degree):
    if sorted(held) != list(range(len(held))):
        raise ValueError(f"stages {sorted(held)} are built")
    return [rows[rank] for rank in range(degree)], [held[stage] for stage in sorted(held)]


def one_by_one(microbatches):
    """What a rank without a pipeline runs."""
    return [[f"0{kind}{microbatch}" for microbatch in range(microbatches) for kind in "FB"]]


def check_count(made, planned):
    if made != planned:
        raise OtherMicrobatches(f"{made} microbatches instead of {planned}")


def check_devices(made, workload):
    if made != workload.devices:
        raise ValueError(f"{made} devices instead of {workload.devices}")


def run_torch(text, degree, microbatches, layers, workload):
    """The lines with what they leave to the user: modules without weights, one process that is each rank in turn."""
    rows, held = {}, {}

    def build_stage(stage, numbers=None):
        module = torch.nn.Identity()
        module.layers = list(numbers) if numbers is not None else [None]
        return module

    for rank in range(degree):
        with ranks.as_rank(rank, degree):
            names = {"build_stage": build_stage, "device": torch.device("cpu"), "pp_group": torch.distributed.group.WORLD,
                     "loss_fn": lambda output, target: output}
            exec(text, names)  # pylint: disable=exec-used
            schedule = names["schedule"]
            check_count(schedule._n_microbatches, microbatches)
            rows.update(torch_classes.rows_of(schedule, degree))
            for stage in getattr(schedule, "_stages", None) or [schedule._stage]:
                held[stage.stage_index] = len(stage.submod.layers)
    numbered = [names["layers_of_stage"][stage] for stage in sorted(held)] if layers else []
    if numbered and [first for first, _ in numbered] != [0] + [last for _, last in numbered[:-1]]:
        raise ValueError(f"layers {numbered} are not in order")
    return joined(rows, held, degree)


def titan_config(text, own_config):
    """The lines in a function that returns a Trainer.Config, which torchtitan's own manager finds, parses and checks."""
    def pasted():
        names = {"config": own_config()}
        exec(text, names)  # pylint: disable=exec-used
        return names["config"]

    sys.modules["pasted"] = types.ModuleType("pasted")
    sys.modules["pasted"].pasted = pasted
    return titan.configured([], ["--module", "pasted", "--config", "pasted"])


def run_torchtitan(text, degree, microbatches, layers, workload):
    """A small model with as many layers, or the model itself: then its first and its last stages are built and spread as well."""
    own = titan.debug_model(sum(layers) if layers else LAYERS_A_RANK * degree)
    if workload.model:
        own = titan.own_model(*models.TORCHTITAN[workload.model], "context_parallel_degree = 1\n" not in text)
    config = titan_config(text, own)
    replicas = config.parallelism.data_parallel_replicate_degree * max(1, config.parallelism.data_parallel_shard_degree)
    if workload.model:
        check_devices(titan.world_of(config), workload)
        stages = len(config.parallelism.module_fqns_per_model_part or [None] * degree)
        for rank in sorted({0, degree - 1}):
            with titan.without_messages(rank > 0 or stages * microbatches > titan.MOST_OPS):
                titan.construct(config, rank)
        config = titan.pipeline_alone(config)
    if degree == 1:  # it builds no schedule: one local batch after the other, until the global one is done
        check_count(config.training.global_batch_size // (config.training.local_batch_size * replicas), microbatches)
        return one_by_one(microbatches), [len(config.model_spec.model.layers)]
    check_count(config.training.local_batch_size // config.parallelism.pipeline_parallel_microbatch_size, microbatches)
    with titan.without_messages(workload.model):
        rows, held, made = titan.orders(config, len(config.model_spec.model.layers))
    check_count(made, microbatches)
    return rows, held


def run_areal(text, degree, microbatches, layers, workload):
    """The lines as YAML, into AReaL's own configuration classes."""
    config = archon.configured(yaml.safe_load(text)["actor"])
    rows, held, stages = archon.orders(config, microbatches, sum(layers) if layers else LAYERS_A_RANK * degree)
    check_count(archon.microbatches_of(config, stages, microbatches), microbatches)
    return rows, held


def run_megatron(text, degree, microbatches, layers, workload):
    """The words of a shell, through Megatron's parser, its checks and its configuration to its loops."""
    words = shlex.split(text)
    number = {words[i]: int(words[i + 1]) for i in range(len(words) - 1) if words[i + 1].isdigit()}
    batch = number["--global-batch-size"]
    if "--overlap-moe-expert-parallel-comm" in words and "--expert-model-parallel-size" not in words:
        # No model is known, and pairs need experts: two replicas that share them out.
        batch *= 2
        words += ["--num-experts", "8", "--expert-model-parallel-size", "2", "--global-batch-size", str(batch)]
    world = degree * batch // (number["--micro-batch-size"] * microbatches)
    for option in ("--tensor-model-parallel-size", "--context-parallel-size"):
        world *= number.get(option, 1)
    if workload.model:
        check_devices(world, workload)
    count = sum(layers) if layers else 2 * degree * number.get("--num-virtual-stages-per-pipeline-rank", 1)
    parsed = megatron_core.arguments(["--num-layers", str(count), *words], world)
    if workload.model:
        ranks.in_child(lambda: megatron_core.make_groups(parsed))
    check_count(megatron_core.microbatches_of(parsed), microbatches)
    config = megatron_core.config_of(parsed)
    rows = [megatron_core.order(config, microbatches, rank) for rank in range(degree)]
    return rows, megatron_core.layers_of(config, parsed.hybrid_layer_pattern)


RUN = {"torch": run_torch, "torchtitan": run_torchtitan, "areal": run_areal, "megatron-core": run_megatron}


def run(target, text, folder, workload, layers):
    """`target` as the JSON spells it: "torch-2.15". `workload.own`: arguments of the model that Megatron has to be told beside the text."""
    framework = target.rpartition("-")[0]
    told = f"{text} {shlex.join(workload.own)}" if framework == "megatron-core" else text
    with in_folder(folder), contextlib.redirect_stdout(io.StringIO()):  # frameworks log there
        return RUN[framework](told, workload.ranks, workload.microbatches, layers, workload)
