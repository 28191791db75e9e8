"""Attention by the call of a flash kernel, where the meta device would run another program.

Without a device scaled_dot_product_attention takes its math path: it keeps S x S scores and multiplies in other sizes than any kernel. So the calls
are caught and handed to the operators of the kernels themselves, which know their shapes on the meta device.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch.overrides import TorchFunctionMode

from ._values import Values

_aten = torch.ops.aten
_sdpa = torch.nn.functional.scaled_dot_product_attention


class FlashAttention(TorchFunctionMode):
    """Inside it, scaled_dot_product_attention on the meta device is a flash kernel: q, k, v, output and log-sum-exp are kept, no mask and no scores.

    A mask that needs a gradient (a learned bias) takes the kernel that has one for it. `pairs` of the call at hand: of query and key that see each
    other, None where a mask was too large to be read.
    """

    def __init__(self, values: Values) -> None:
        super().__init__()
        self._values = values
        self.pairs: Optional[int] = None

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _sdpa:
            return self._attend(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: Optional[torch.Tensor] = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: Optional[float] = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        if query.device.type != "meta":
            return _sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        while query.dim() < 4:
            query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
        self.pairs = self._seen(query, key, attn_mask, is_causal)
        if attn_mask is not None and attn_mask.requires_grad:
            return self._biased(query, key, value, attn_mask, dropout_p, scale)
        return _aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]

    def _biased(self, query: Any, key: Any, value: Any, bias: Any, dropout: float, scale: Optional[float]) -> Any:
        bias = bias.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        return _aten._scaled_dot_product_efficient_attention(query, key, value, bias, True, dropout, False, scale=scale)[0]

    def _seen(self, query: torch.Tensor, key: torch.Tensor, mask: Optional[torch.Tensor], is_causal: bool) -> Optional[int]:
        queries, keys = query.shape[2], key.shape[2]
        if mask is None:
            return queries * (queries + 1) // 2 if is_causal else queries * keys
        numbers = self._values.of(mask)
        if numbers is None or numbers.shape[-2:] != (queries, keys):
            return None
        seen = numbers if numbers.dtype is torch.bool else numbers == 0
        return int(seen.sum()) * queries * keys // seen.numel()
