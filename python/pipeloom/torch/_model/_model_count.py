"""The counts of a model, and the file of them that Pipeloom reads."""
from __future__ import annotations

import dataclasses
import json
import os
import string
from typing import Any, Iterator, Optional

import torch

from ... import InputError
from ._count import Run
from ._layers import LayerList
from ._measure import Counted
from ._products import Attention

# Letters of layers; E and L are the embedding's and the head's.
_LETTERS = [letter for letter in string.ascii_uppercase + string.ascii_lowercase + string.digits if letter not in "EL"]


@dataclasses.dataclass(frozen=True)
class Kind:
    """Layers with the same counts and as many parameters of their own."""

    letter: str
    name: str
    parameters: int
    counted: Counted


@dataclasses.dataclass(frozen=True)
class Ends:
    """Embedding and head: rows and width of the table, whether the head shares it, its bias; the final norm and whether it has a bias."""

    rows: int = 0
    width: int = 0
    tied: bool = False
    head_bias: bool = False
    final_norm: bool = False
    norm_bias: bool = False
    modules: tuple[str, ...] = ("", "", "")  # embedding, norm, head

    @property
    def parameters(self) -> int:
        norm = self.width * (2 if self.norm_bias else 1) if self.final_norm else 0
        return self.rows * self.width * (1 if self.tied else 2) + (self.rows if self.head_bias else 0) + norm


@dataclasses.dataclass(frozen=True)
class ModelCount:
    """A model counted on no device, for one microbatch of `micro_batch` samples of `seq` tokens.

    `parameters`: all, tied ones once; `buffers` their bytes; `layers`: a name per run of a layer, in order, and `letters` its kind's letter;
    `skipped`: layers that did not run, by list, and their parameters, which are of `tables`; `tables`: parameters that are no layer's and not of `ends`; `rest_flops`: forward, outside of layers; `notes`: what cannot be seen, or what the code does
    beside what the model needs, a line each.
    """

    name: str
    seq: int
    micro_batch: int
    dtype: str
    attention: str
    parameters: int
    buffers: int
    kinds: tuple[Kind, ...]
    layers: tuple[str, ...]
    letters: str
    ends: Ends
    tables: int
    rest_flops: int
    skipped: dict[str, tuple[str, ...]]
    skipped_parameters: int
    notes: tuple[str, ...]

    def kind_of(self, layer: int) -> Kind:
        return next(kind for kind in self.kinds if kind.letter == self.letters[layer])

    @property
    def flops(self) -> int:
        """FLOPs of one microbatch: forward, gradients of inputs and of weights in all layers, and three times the rest's forward."""
        return sum(sum(self.kind_of(layer).counted.flops) for layer in range(len(self.letters))) + 3 * self.rest_flops

    @property
    def flops_per_token(self) -> float:
        """Three times the forward, attention by the pairs that see each other (the diagonal half), as `pipeloom estimate` counts it."""
        forward = self.rest_flops + sum(_needed(self.kind_of(layer).counted) for layer in range(len(self.letters)))
        return 3 * forward / (self.seq * self.micro_batch)

    def to_dict(self, *, partial: bool = False) -> dict[str, Any]:
        """The model file (docs/models.md). Raises InputError for parts that it cannot hold: layers that did not run, unless `partial`; no embedding;
        times of operations that cannot be seen."""
        self._check(partial)
        return {
            "name": self.name,
            "source": f"counted by pipeloom.torch.model, torch {torch.__version__.partition('+')[0]}, {self.dtype}, {self.attention} attention",
            "hidden": self.ends.width,
            "vocabulary": self.ends.rows,
            "tied": self.ends.tied,
            "head_bias": self.ends.head_bias,
            "norm": "layer" if self.ends.norm_bias else "rms",
            "final_norm": self.ends.final_norm,
            "sequence": self.seq,
            "tables": self.tables - self.skipped_parameters,
            "kinds": {kind.letter: self._kind(kind) for kind in self.kinds},
            "layers": self.letters,
            "modules": {"embedding": self.ends.modules[0], "layers": list(self.layers), "norm": self.ends.modules[1], "head": self.ends.modules[2]},
        }

    def _check(self, partial: bool) -> None:
        if self.skipped and not partial:
            raise InputError(f"{self._skipped_text()}; give inputs= that reach them, or partial=True to leave them out")
        if not self.ends.rows:
            raise InputError(f"{self.name} has no embedding of tokens; a model file needs one")
        if len(self.kinds) > len(_LETTERS):
            raise InputError(f"{self.name} has {len(self.kinds)} kinds of layers; a model file has letters for {len(_LETTERS)}")
        unseen = sorted({name for kind in self.kinds for name in kind.counted.unseen})
        if unseen:
            raise InputError(f"the work of {', '.join(unseen)} cannot be seen; a file would count it as nothing")
        if self.tables < self.skipped_parameters:
            raise InputError(f"{self.name} has embeddings or heads of another shape than vocabulary x hidden; a model file cannot say them")

    def _skipped_text(self) -> str:
        return "; ".join(f"{len(names)} layers of {where or 'the model'} did not run ({names[0]})" for where, names in self.skipped.items())

    def _kind(self, kind: Kind) -> dict[str, Any]:
        counted = kind.counted
        out = {
            "parameters": kind.parameters,
            "active": max(0, kind.parameters - counted.idle),
            "flops": list(counted.flops),
            "products": [[*product, times] for product, times in counted.products],
            "inner": [[*product, times] for product, times in counted.inner],
            "attention": [[*_seen(call), times] for call, times in counted.attention],
            "elementwise": list(counted.elementwise),
            "kernels": list(counted.kernels),
            "kept": counted.kept,
            "kept_for_weights": counted.kept_for_weights,
            "input": counted.input_bytes,
            "gradients": counted.gradient_bytes,
            "sequence": self.seq,
            "micro_batch": self.micro_batch,
        }
        return {"name": kind.name, "counted": out}

    def save(self, path: str | os.PathLike[str], *, partial: bool = False) -> None:
        """Writes the model file, for `pipeloom estimate`, `plan` and `layout`. Raises InputError as `to_dict` does."""
        out = self.to_dict(partial=partial)
        kinds = ",\n".join(f"    {json.dumps(letter)}: {json.dumps(kind)}" for letter, kind in out["kinds"].items())
        rows = [f"  {json.dumps(key)}: " + (f"{{\n{kinds}\n  }}" if key == "kinds" else json.dumps(value)) for key, value in out.items()]
        with open(path, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(rows) + "\n}\n")

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.parameters:,} parameters, {len(self.letters)} layers; {self.micro_batch} x {self.seq} tokens, {self.dtype}"]
        lines.append(f"{'':2}{'kind':28} {'layers':>6} {'parameters':>16} {'F GFLOP':>12} {'I':>12} {'W':>12} {'kept MB':>10}")
        for kind in self.kinds:
            forward, inputs, weights = (f"{value / 1e9:,.3f}" for value in kind.counted.flops)
            lines.append(
                f"{kind.letter:2}{kind.name[:28]:28} {self.letters.count(kind.letter):6} {kind.parameters:16,} {forward:>12} {inputs:>12} {weights:>12} "
                f"{kind.counted.kept / 1e6:10,.3f}"
            )
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def _needed(counted: Counted) -> float:
    """FLOPs of a forward without pairs that a mask takes out."""
    out = float(counted.flops[0])
    for call, times in counted.attention:
        if call.pairs is not None:
            hidden = call.queries * call.keys - (call.pairs - call.queries / 2)
            out -= 2 * hidden * call.batch * call.heads * (call.qk_dim + call.v_dim) * times
    return out


def _seen(call: Attention) -> list[int]:
    pairs = call.queries * call.keys if call.pairs is None else call.pairs
    return [call.batch, call.queries, call.keys, call.heads, call.kv_heads, call.qk_dim, call.v_dim, pairs]


def summed(run: Run, name: str, seq: int, micro_batch: int, dtype: str, attention: str) -> ModelCount:
    """Layers with letters, each parameter with the first layer that has it, and notes on what is not as it seems."""
    ends = _ends(run.model, run.lists)
    owned, shared = _owned(run)
    everything = _size(run.model.parameters())
    kinds: list[Kind] = []
    letters: list[str] = []
    for place, call in enumerate(run.calls):
        same = (run.kinds[call.kind], run.classes[call.kind], owned[place])
        found = next((kind for kind in kinds if (kind.counted, kind.name, kind.parameters) == same), None)
        if found is None:
            letter = _LETTERS[len(kinds)] if len(kinds) < len(_LETTERS) else "?"
            found = Kind(letter, run.classes[call.kind], owned[place], run.kinds[call.kind])
            kinds.append(found)
        letters.append(found.letter)
    skipped = _skipped(run)
    return ModelCount(
        name=name or type(run.model).__name__,
        seq=seq,
        micro_batch=micro_batch,
        dtype=dtype,
        attention=attention,
        parameters=everything,
        buffers=sum({id(item): item.numel() * item.element_size() for item in run.model.buffers()}.values()),
        kinds=tuple(kinds),
        layers=tuple(call.name for call in run.calls),
        letters="".join(letters),
        ends=ends,
        tables=everything - sum(owned) - ends.parameters,
        rest_flops=run.rest.flops,
        skipped=skipped,
        skipped_parameters=_size(item for layers in run.lists for name, layer in layers.items if name in skipped.get(layers.name, ()) for item in layer.parameters()),
        notes=tuple([*run.notes, *_notes(run, kinds, skipped, shared)]),
    )


def _size(parameters: Iterator[torch.nn.Parameter]) -> int:
    return sum({id(item): item.numel() for item in parameters}.values())


def _owned(run: Run) -> tuple[list[int], int]:
    """Parameters of each run that no earlier one has, and how many runs have some that an earlier one has."""
    seen: set[int] = set()
    counts: list[int] = []
    shared = 0
    for call in run.calls:
        mine = {id(item): item.numel() for item in call.layer.parameters()}
        counts.append(sum(size for key, size in mine.items() if key not in seen))
        shared += bool(seen & mine.keys())
        seen |= mine.keys()
    return counts, shared


def _skipped(run: Run) -> dict[str, tuple[str, ...]]:
    ran = {call.name for call in run.calls}
    names = {layers.name: tuple(name for name, _ in layers.items if name not in ran) for layers in run.lists}
    return {where: missing for where, missing in names.items() if missing}


def _ends(model: torch.nn.Module, lists: list[LayerList]) -> Ends:
    """The largest embedding outside of layers, the last linear one with as many rows, the last norm of its width."""
    inside = tuple(f"{name}." for layers in lists for name, _ in layers.items)
    outside = [(name, module) for name, module in model.named_modules() if not f"{name}.".startswith(inside)]
    tables = [(name, module) for name, module in outside if isinstance(module, torch.nn.Embedding)]
    own = _own_embedding(model)
    chosen = [row for row in tables if row[1] is own] or sorted(tables, key=lambda row: -row[1].weight.numel())
    if not chosen:
        return Ends()
    table_name, table = chosen[0]
    rows, width = table.weight.shape
    heads = [(name, module) for name, module in outside if isinstance(module, torch.nn.Linear) and tuple(module.weight.shape) == (rows, width)]
    head_name, head = heads[-1] if heads else ("", None)
    norms = [(name, module) for name, module in outside if "norm" in type(module).__name__.lower() and _is_norm(module, width)]
    norm_name, norm = norms[-1] if norms else ("", None)
    bias = getattr(head, "bias", None)
    return Ends(
        rows=rows,
        width=width,
        tied=head is None or head.weight is table.weight,
        head_bias=bias is not None and bias.numel() == rows,
        final_norm=norm is not None,
        norm_bias=getattr(norm, "bias", None) is not None,
        modules=(table_name, norm_name, head_name),
    )


def _own_embedding(model: torch.nn.Module) -> Any:
    """The embedding of tokens that a model of transformers names; None if it names none."""
    try:
        return model.get_input_embeddings()
    except (AttributeError, NotImplementedError):
        return None


def _is_norm(module: torch.nn.Module, width: int) -> bool:
    sizes = [tuple(item.shape) for item in module.parameters()]
    return bool(sizes) and len(sizes) <= 2 and all(size == (width,) for size in sizes)


def _notes(run: Run, kinds: list[Kind], skipped: dict[str, tuple[str, ...]], shared: int) -> Iterator[str]:
    for where, names in skipped.items():
        yield f"{len(names)} of {sum(len(item.items) for item in run.lists if item.name == where)} layers of {where or 'the model'} did not run: {names[0]}{' ..' if len(names) > 1 else ''}"
    again = len(run.calls) - len({call.name for call in run.calls})
    if again:
        yield f"{again} of {len(run.calls)} runs are of layers that ran before: their parameters count once, their work and what they keep each time"
    elif shared:
        yield f"{shared} layers have parameters of an earlier one, which count once"
    if run.routed:
        yield "the load of experts is taken to be even"
    for kind in kinds:
        yield from _notes_of(kind)


def _notes_of(kind: Kind) -> Iterator[str]:
    counted = kind.counted
    what = f"{kind.letter} ({kind.name})"
    if counted.unseen:
        yield f"{what}: the work of {', '.join(counted.unseen)} cannot be seen"
    if counted.hidden_bytes > counted.kept // 100:
        yield f"{what}: {counted.hidden_bytes:,} bytes more are alive after the forward than autograd names"
    if counted.no_gradient:
        yield f"{what}: no gradient reaches {len(counted.no_gradient)} parameters, {counted.no_gradient[0]} .."
    if any(call.pairs is None for call, _ in counted.attention):
        yield f"{what}: the numbers of a mask are not known, attention is counted over the whole square"
    yield from _notes_of_code(counted, what)


def _listed(counted: Counted) -> int:
    """FLOPs of products with weights and of fused attention, over the whole square."""
    out = sum(product.flops * times for product, times in counted.products)
    for call, times in counted.attention:
        out += 2 * call.batch * call.queries * call.keys * call.heads * (call.qk_dim + call.v_dim) * times
    return out


def _notes_of_code(counted: Counted, what: str) -> Iterator[str]:
    """Notes where the code does more than a kernel made for it would, or in other pieces."""
    inner = sum(product.flops * times for product, times in counted.inner)
    scores: Optional[int] = max((product.rows * product.outputs // product.groups for product, _ in counted.inner), default=None)
    if counted.flops[0] and inner > counted.flops[0] // 100 and scores is not None:
        yield f"{what}: {100 * inner // counted.flops[0]} % of the forward's FLOPs are products of activations in plain torch; a fused kernel keeps and computes less"
    other = counted.flops[0] - inner - _listed(counted)
    if counted.flops[0] and other > counted.flops[0] // 100:
        yield f"{what}: {100 * other // counted.flops[0]} % of the forward's FLOPs are neither products nor attention (convolutions); a file has no time for them"
    if counted.crowded:
        yield f"{what}: all {counted.crowded} groups of weights multiply every token; where a router chooses among them the model needs less"
    if counted.kernels[0] > 500:
        yield f"{what}: {counted.kernels[0]} small operations in the forward, a loop in plain torch; a kernel for it computes and keeps something else"
