"""pipeloom.torch.model on modules whose numbers follow by hand. Needs torch: python -m pytest tests/torch/real/test_count.py"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pipeloom as pl
import pipeloom.torch as pt
import pytest
import torch
from torch import nn
from torch.nn import functional as F

B, S, H, FFN, V = 2, 16, 8, 32, 100  # samples, tokens, widths, vocabulary
T = B * S
BF16 = 2  # bytes


class Block(nn.Module):
    """x + down(relu(up(x))), two products."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(H, FFN, bias=False)
        self.down = nn.Linear(FFN, H, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.relu(self.up(x)))


class Model(nn.Module):
    def __init__(self, layers: list[nn.Module], tied: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(V, H)
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(H, V, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def count(module: Any, **given: Any) -> Any:
    return pt.model(module, **{"seq": S, "micro_batch": B, **given})


def test_products_and_passes_of_a_block() -> None:
    counted = count(Model([Block(), Block(), Block()]).to(torch.bfloat16))
    (kind,) = counted.kinds
    assert counted.letters == "AAA" and counted.layers == ("layers.0", "layers.1", "layers.2")
    each = 2 * T * H * FFN  # one product
    assert kind.counted.flops == (2 * each, 2 * each, 2 * each)
    assert kind.parameters == 2 * H * FFN
    assert counted.parameters == 3 * 2 * H * FFN + 2 * V * H
    assert counted.rest_flops == 2 * T * H * V


def test_a_storage_is_kept_once() -> None:
    kept = count(Model([Block()]).to(torch.bfloat16)).kinds[0].counted
    # The input of up, and what relu makes, which relu's own backward and down read: one storage.
    assert kept.kept == T * H * BF16 + T * FFN * BF16
    assert kept.kept_for_weights == kept.kept
    assert kept.input_bytes == T * H * BF16
    assert kept.gradient_bytes == T * (FFN + H) * BF16


def test_tied_weights_count_once_and_a_module_keeps_its_numbers() -> None:
    module = Model([Block()], tied=True)
    before = module.embed.weight.clone()
    counted = count(module)
    assert counted.ends.tied and counted.parameters == V * H + 2 * H * FFN
    assert torch.equal(module.embed.weight, before) and module.embed.weight.device.type == "cpu"


def test_a_layer_that_runs_twice_has_its_parameters_once() -> None:
    block = Block()
    counted = count(Model([block, block]))
    assert counted.letters == "AB"
    assert [kind.parameters for kind in counted.kinds] == [2 * H * FFN, 0]
    assert [kind.counted.flops for kind in counted.kinds] == [counted.kinds[0].counted.flops] * 2
    assert any("1 of 2 runs are of layers that ran before" in note for note in counted.notes)


def test_layers_that_do_not_run_are_said_and_no_file_is_written(tmp_path: Path) -> None:
    class Skipping(Model):
        def forward(self, ids: torch.Tensor) -> Any:
            return self.head(self.layers[0](self.embed(ids)))

    counted = count(Skipping([Block(), Block()]))
    assert counted.skipped == {"layers": ("layers.1",)}
    with pytest.raises(pl.InputError, match="1 layers of layers did not run .layers.1.; give inputs="):
        counted.save(tmp_path / "model.json")


def test_parameters_without_a_gradient_are_named() -> None:
    class Crossed(Block):
        def __init__(self) -> None:
            super().__init__()
            self.cross = nn.Linear(H, H)

    counted = count(Model([Crossed()]))
    assert counted.kinds[0].counted.no_gradient == ("cross.weight", "cross.bias")
    assert any("no gradient reaches 2 parameters, cross.weight" in note for note in counted.notes)


class Attention(nn.Module):
    """Two heads of queries on one of keys and values, with a window or without."""

    def __init__(self, window: int = 0) -> None:
        super().__init__()
        self.window = window
        self.qkv = nn.Linear(H, 2 * H, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).split([H, H // 2, H // 2], -1)
        q, k, v = (item.unflatten(-1, (-1, H // 2)).transpose(1, 2) for item in (q, k, v))
        if not self.window:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).flatten(-2)
        at = torch.arange(S)
        seen = (at[:, None] >= at) & (at[:, None] - at < self.window)
        return F.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True).transpose(1, 2).flatten(-2)


def test_attention_is_a_flash_kernel_and_pairs_are_those_that_a_mask_lets_through() -> None:
    for window, pairs in ((0, S * (S + 1) // 2), (4, 4 * S - 4 * 3 // 2)):
        counted = count(Model([Attention(window)]).to(torch.bfloat16)).kinds[0].counted
        ((call, times),) = counted.attention
        assert (call.queries, call.heads, call.kv_heads, call.pairs, times) == (S, 2, 1, pairs, 1)
        # Forward two products over the whole square, backward five.
        square = 2 * B * 2 * S * S * (H // 2)
        product = 2 * T * H * 2 * H
        assert counted.flops == (product + 2 * square, product + 5 * square, product)
        # Input, q with k and v in one storage, the output, a float of sums for each query and head; two numbers of the random state.
        assert counted.kept == BF16 * (T * H + T * 2 * H + T * H) + 4 * T * 2 + 24


class Experts(nn.Module):
    """Each token to one of four, by a grouped product."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(H, 4, bias=False)
        self.weight = nn.Parameter(torch.zeros(4, H, H, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(0, 1)
        scores, chosen = self.router(flat).softmax(-1).topk(1)
        order = chosen.flatten().argsort()
        ends = torch.bincount(chosen.flatten(), minlength=4).cumsum(0).to(torch.int32)
        made = F.grouped_mm(flat[order], self.weight, offs=ends)
        return x + (made * scores[order]).view_as(x)


def test_grouped_products_count_and_a_token_passes_its_experts_alone() -> None:
    counted = count(Model([Experts()]).to(torch.bfloat16))
    kind = counted.kinds[0].counted
    assert kind.flops == (2 * T * H * 4 + 2 * T * H * H,) * 3
    assert kind.idle == 3 * H * H
    assert "the load of experts is taken to be even" in counted.notes


def test_experts_that_multiply_every_token_are_said() -> None:
    class Crowd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(4, H, H))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            flat = x.flatten(0, 1)
            return x + torch.bmm(flat.expand(4, -1, -1), self.weight).mean(0).view_as(x)

    counted = count(Model([Crowd()]))
    assert counted.kinds[0].counted.flops[0] == 4 * 2 * T * H * H
    assert "A (Crowd): all 4 groups of weights multiply every token; where a router chooses among them the model needs less" in counted.notes


def test_work_that_is_neither_product_nor_attention_is_said() -> None:
    class Convolved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv1d(H, H, 3, padding=1, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.conv(x.transpose(1, 2)).transpose(1, 2)

    counted = count(Model([Convolved()]))
    assert counted.kinds[0].counted.flops[0] == 2 * T * H * H * 3
    assert any("100 % of the forward's FLOPs are neither products nor attention" in note for note in counted.notes)


def test_loops_over_experts_run_with_an_even_load() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.router = nn.Linear(H, 4, bias=False)
            self.experts = nn.ModuleList(nn.Linear(H, H, bias=False) for _ in range(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            flat = x.flatten(0, 1)
            chosen = self.router(flat).topk(2).indices
            out = torch.zeros_like(flat)
            for number, expert in enumerate(self.experts):
                rows = (chosen == number).any(-1).nonzero().flatten()
                out = out.index_add(0, rows, expert(flat[rows]))
            return x + out.view_as(x)

    counted = count(Model([Loop()])).kinds[0].counted
    assert counted.flops[0] == 2 * T * H * 4 + 2 * (2 * T) * H * H  # each token to two of four


def test_numbers_that_follow_from_weights_are_refused_with_a_line() -> None:
    class Asking(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum() > 0 else super().forward(x)

    with pytest.raises(pl.InputError, match="Model does not run without a device: RuntimeError"):
        count(Model([Asking()]))


def test_an_index_behind_a_table_is_refused() -> None:
    class Positions(Model):
        def forward(self, ids: torch.Tensor) -> Any:
            return super().forward(torch.arange(ids.shape[1]).expand_as(ids) + V - S + 1)

    with pytest.raises(pl.InputError, match="index 100 is outside the 100 rows of a table"):
        count(Positions([Block()]))


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(pl.InputError, match="has no list of layers"):
        count(nn.Linear(H, H), inputs=torch.zeros(1, H))
    with pytest.raises(pl.InputError, match="the function made a str"):
        count(lambda: "model")
    with pytest.raises(pl.InputError, match="'bfloat' is no dtype of torch"):
        count(Model([Block()]), dtype="bfloat")


def test_the_file_is_read_by_estimate_and_layout(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    counted = count(Model([Block(), Block()]).to(torch.bfloat16))
    counted.save(path)
    written = json.loads(path.read_text())
    assert written["layers"] == "AA" and written["modules"]["layers"] == ["layers.0", "layers.1"]
    answer = pl.estimate(str(path), hardware="h100", ranks=2, microbatches=4, seq=S, micro_batch=B)
    assert answer["parameters"] == counted.parameters
