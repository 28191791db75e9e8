"""What Megatron-core does with arguments: its own parser and checks, its layers by stage, and the order that its own loops run."""
import contextlib
import io
import os
import sys
import types
from unittest import mock

import torch
from megatron.core import parallel_state
from megatron.core import recompute
from megatron.core.enums import ModelType
from megatron.core.models.hybrid.hybrid_layer_allocation import select_pipeline_segment
from megatron.core.pipeline_parallel import schedules
from megatron.core.transformer.enums import LayerType
from megatron.core.transformer.transformer_block import get_num_layers_to_build
from megatron.core.transformer.transformer_config import TransformerConfig
from megatron.training import arguments as training_arguments
from megatron.training.training import get_megatron_ddp_config

import ranks

# Megatron wants these said whatever the pipeline is.
UNRELATED = ["--hidden-size", "256", "--num-attention-heads", "16", "--max-position-embeddings", "131072", "--seq-length", "1024",
             "--bf16", "--transformer-impl", "local", "--no-persist-layer-norm", "--no-gradient-accumulation-fusion",
             "--no-masked-softmax-fusion", "--position-embedding-type", "rope", "--no-rope-fusion", "--vocab-size", "1024",
             "--tokenizer-type", "NullTokenizer"]


HOPPER = 9  # compute capability, of which it asks the GPU


def connections_of(words):
    """The environment that the block's `needs` ask for: one connection a device, or as many as CUDA has where FSDP is told."""
    return {} if "--use-megatron-fsdp" in words else {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}


def arguments(words, world, environment=None):
    """The validated arguments. Raises what Megatron raises; its parser's SystemExit becomes a ValueError."""
    silent = io.StringIO()
    told = {"RANK": "0", "WORLD_SIZE": str(world), **(connections_of(words) if environment is None else environment)}
    with mock.patch.object(sys, "argv", ["pretrain_gpt.py", *UNRELATED, *words]), \
            mock.patch.dict(os.environ, told), \
            mock.patch.object(training_arguments, "get_device_arch_version", lambda: HOPPER), \
            mock.patch.object(torch.cuda, "get_device_capability", lambda: (HOPPER, 0)), \
            contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        try:
            parsed = training_arguments.parse_args()
        except SystemExit as stop:
            raise ValueError(silent.getvalue().strip().splitlines()[-1]) from stop
        training_arguments.validate_args(parsed)
        return parsed


def config_of(parsed):
    """The TransformerConfig that Megatron makes of validated arguments: checks layers, layout and chunks."""
    with contextlib.redirect_stdout(io.StringIO()):
        return training_arguments.core_transformer_config_from_args(parsed)


def sharding_of(parsed):
    """The strategy in the configuration that FSDP is made with."""
    return get_megatron_ddp_config(parsed).data_parallel_sharding_strategy


def make_groups(parsed):
    """Its groups of tensor, context, expert, pipeline and data ranks. Raises what Megatron raises."""
    degrees = {name: getattr(parsed, name) for name in ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
                                                        "expert_model_parallel_size", "expert_tensor_parallel_size")}
    with ranks.as_rank(0, parsed.world_size):
        try:
            parallel_state.initialize_model_parallel(**degrees, create_gloo_process_groups=False)
        finally:
            parallel_state.destroy_model_parallel()


def microbatches_of(parsed):
    return parsed.global_batch_size // (parsed.micro_batch_size * parsed.data_parallel_size)


def layers_of(config, pattern=None):
    """Decoder layers of each stage in the order of stages, chunk by chunk. `pattern`: the letters of a hybrid model."""
    degree, chunks = config.pipeline_model_parallel_size, config.virtual_pipeline_model_parallel_size
    if pattern:
        return [len(segment(pattern, rank, degree, chunk if chunks else None)) for chunk in range(chunks or 1) for rank in range(degree)]
    if config.pipeline_model_parallel_layout is not None:
        layout = config.pipeline_model_parallel_layout.layout
        return [layout[rank][chunk].count(LayerType.decoder) for chunk in range(chunks or 1) for rank in range(degree)]
    with mock.patch("megatron.core.parallel_state.get_virtual_pipeline_model_parallel_world_size", lambda: chunks):
        return [get_num_layers_to_build(config, vp_stage=chunk if chunks else None, pp_rank=rank)
                for chunk in range(chunks or 1) for rank in range(degree)]


def segment(pattern, rank, degree, chunk):
    with ranks.as_rank(rank, degree):
        world = torch.distributed.group.WORLD
        return select_pipeline_segment(pattern, world, chunk, tp_group=world, dp_cp_group=world)[0]


DONE = types.SimpleNamespace(wait=lambda: None)


class Messages:
    """Stands for the messages of one rank: nothing is sent, nothing is received."""

    def __init__(self, rank, degree, config):
        self.pp_group = types.SimpleNamespace(rank=lambda: rank, size=lambda: degree)
        self.config = config
        self.virtual_pipeline_model_parallel_size = config.virtual_pipeline_model_parallel_size
        self.total_stages, self.current_stage = degree, rank
        self.is_pp_first_stage, self.is_pp_last_stage = rank == 0, rank == degree - 1

    def one(self, *arguments, **options):
        return None

    def two(self, *arguments, **options):
        return None, None

    recv_forward = recv_backward = send_forward = send_backward = one
    send_forward_recv_backward = send_backward_recv_forward = one
    send_forward_backward_recv_forward_backward = two

    def send_forward_recv_forward(self, *arguments, recv_prev=False, overlap_p2p_comm=False, **options):
        return (None, {"recv_prev": DONE} if recv_prev else {}) if overlap_p2p_comm else None

    def send_backward_recv_backward(self, *arguments, recv_next=False, overlap_p2p_comm=False, **options):
        return (None, {"recv_next": DONE} if recv_next else {}) if overlap_p2p_comm else None


def order(config, microbatches, rank):
    """The ops of a rank, recorded while Megatron's own loop runs with its two steps replaced. Raises what Megatron raises."""
    degree, chunks = config.pipeline_model_parallel_size, config.virtual_pipeline_model_parallel_size or 1
    done, counts = [], {}

    def label(kind, chunk, microbatch):
        return f"{chunk * degree + rank}{kind}{microbatch}"

    def next_backward(chunk):
        counts[chunk] = counts.get(chunk, -1) + 1
        return counts[chunk]

    def forward_step(*arguments, current_microbatch=None, vp_stage=None, **options):
        chunk = vp_stage or 0
        done.append(label("F", chunk, current_microbatch))
        return types.SimpleNamespace(chunk=chunk, microbatch=current_microbatch), torch.zeros([], dtype=torch.int)

    def backward_step(input_tensor, output_tensor, *arguments):
        done.append(label("B", output_tensor.chunk, output_tensor.microbatch))

    def combined(config, step, data, model, count, store, before_forward, after_forward, before_backward, after_backward,
                 microbatch_of, chunk_of, *arguments, f_virtual_microbatch_id=None, b_virtual_microbatch_id=None, **hooks):
        parts = []
        if f_virtual_microbatch_id is not None:
            parts.append(label("F", chunk_of(f_virtual_microbatch_id, forward=True),
                               microbatch_of(f_virtual_microbatch_id, forward=True)))
        if b_virtual_microbatch_id is not None:
            chunk = chunk_of(b_virtual_microbatch_id, forward=False)
            parts.append(label("B", chunk, next_backward(chunk)))
        done.append(parts[0] if len(parts) == 1 else f"({';'.join(parts)})OVERLAP_F_B")
        return None, None

    zeros = torch.zeros
    group = types.SimpleNamespace(size=lambda: 1, rank=lambda: 0)
    modules = []
    for _ in range(chunks):
        modules.append(torch.nn.Identity())
        modules[-1].config, modules[-1].model_type = config, ModelType.encoder_or_decoder
    run = schedules.get_forward_backward_func(degree, config.virtual_pipeline_model_parallel_size)
    with mock.patch.multiple(schedules, forward_step=forward_step, backward_step=backward_step,
                             deallocate_output_tensor=lambda *arguments: None,
                             combined_1f1b_schedule_for_interleaved_pipelining=combined), \
            mock.patch.object(torch, "zeros", lambda *sizes, device=None, **options: zeros(*sizes, **options)):
        run(forward_step_func=None, data_iterator=[None] * chunks, model=modules, num_microbatches=microbatches, seq_length=8,
            micro_batch_size=1, p2p_communicator=Messages(rank, degree, config),
            pg_collection=schedules.ProcessGroupCollection(tp=group, cp=group))
    return done


def run_again(words, layers):
    """Groups of a stage's layers that run again together, by its own forward of a block with a checkpoint that only writes down what it runs."""
    config = config_of(arguments(["--pipeline-model-parallel-size", "1", "--micro-batch-size", "1", "--global-batch-size", "1",
                                  "--num-layers", str(layers), *words], 1))
    seen, groups = [], []

    class Layer(torch.nn.Module):
        def __init__(self, index):
            super().__init__()
            self.index = index

        def forward(self, hidden_states, **_):
            seen.append(self.index)
            return hidden_states * 1.0

    def checkpoint(run, _, *inputs):
        before = len(seen)
        result = run(*inputs)
        groups.append(seen[before:])
        return result

    block = types.SimpleNamespace(config=config, layers=[Layer(index) for index in range(layers)], num_layers_per_pipeline_rank=layers)
    with mock.patch.object(recompute.tensor_parallel, "checkpoint", checkpoint):
        recompute.checkpointed_forward(block, torch.ones(1, requires_grad=True), None, None, None, None, None, None, False)
    assert sorted(set(seen)) == list(range(layers))
    return groups


def plain_config(degree, chunks, group_size=None, paired=False):
    """A model of one layer a stage. `group_size` microbatches run together per chunk: Megatron's own default where it is left out."""
    config = TransformerConfig(
        num_layers=degree * chunks, hidden_size=16, num_attention_heads=4, pipeline_dtype=torch.float32, pipeline_model_parallel_size=degree,
        virtual_pipeline_model_parallel_size=chunks if chunks > 1 else None, microbatch_group_size_per_vp_stage=group_size)
    # Its own checks of pairs want experts; the loops ask for the switch alone.
    config.overlap_moe_expert_parallel_comm = paired
    return config


def orders(degree, microbatches, chunks, group_size=None, paired=False):
    """One row per rank. Raises what Megatron raises."""
    config = plain_config(degree, chunks, group_size, paired)
    return [order(config, microbatches, rank) for rank in range(degree)]
