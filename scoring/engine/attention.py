"""Attention for packs: many pairs in one row of tokens, what a pair's sides share computed once.

A pair with a common prefix of p tokens is written as its whole chosen sequence followed by
rejected[p:] at positions p, p + 1, ... Queries of the second segment see the first p tokens of the
first one, then their own. Everything in a decoder but attention is position-wise and notices
nothing. No padding, no mask: a call of variable length on CUDA, one call a segment elsewhere.
"""

import inspect
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from transformers import AttentionInterface

from scoring.engine.formatting import Prepared

NAME = "shared_prefix_packs"
"""Under which transformers knows this attention."""


class Segment(NamedTuple):
    """Queries and their keys, as places among the written tokens.

    Queries are begin to end. Keys are shared to shared_end (in the segment that the pair's sides
    share), then own to end. From read on, queries matter even in the last layer.
    """

    begin: int
    end: int
    shared: int
    shared_end: int
    own: int
    read: int


@dataclass(frozen=True, slots=True)
class _Segments:
    segments: tuple[Segment, ...]
    masks: dict[tuple[int, int, int | None, torch.device], torch.Tensor | None] = field(
        default_factory=dict
    )

    def mask(self, n_queries: int, n_keys: int, window: int | None, like: torch.Tensor) -> Any:
        """As `_mask` gives it, made once for all layers."""
        key = (n_queries, n_keys, window, like.device)
        if key not in self.masks:
            self.masks[key] = _mask(n_queries, n_keys, window, like)
        return self.masks[key]


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack as one row of tokens, on a device.

    ids, positions: [tokens].
    tails: [reads], the written tokens at which rewards are read: the last `chosen_tail` of each
        chosen sequence, then the last `rejected_tail` of its rejected one.
    arguments: what the attention needs to know, as keyword arguments of the model's forward.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    tails: torch.Tensor
    arguments: dict[str, Any]


def write_pack(pairs: Sequence[Prepared], device: torch.device, *, variable_length: bool) -> Pack:
    """variable_length: prepare for one call over all segments, else for one call each."""
    ids, positions, tails, gather = array("q"), array("q"), array("q"), array("q")
    queries, keys = array("i", [0]), array("i", [0])
    segments: list[Segment] = []
    for pair in pairs:
        first, shared = len(ids), pair.shared
        ids.extend(pair.chosen)
        end = len(ids)
        positions.extend(range(pair.chosen_start, pair.chosen_start + len(pair.chosen)))
        tails.extend(range(end - pair.chosen_tail, end))
        rejected_read = len(pair.rejected) - pair.rejected_tail
        read = min(end - pair.chosen_tail, first + rejected_read if rejected_read < shared else end)
        segments.append(Segment(first, end, first, first, first, read))
        ids.extend(pair.rejected[shared:])
        if len(ids) > end:
            start = pair.rejected_start
            positions.extend(range(start + shared, start + len(pair.rejected)))
            read = end + max(0, rejected_read - shared)
            segments.append(Segment(end, len(ids), first, first + shared, end, read))
        for place in range(rejected_read, len(pair.rejected)):
            tails.append(first + place if place < shared else end + place - shared)
    arguments: dict[str, Any] = {"segments": _Segments(tuple(segments))}
    if variable_length:
        for segment in segments:
            gather.extend(range(segment.shared, segment.shared_end))
            gather.extend(range(segment.own, segment.end))
            queries.append(segment.end)
            keys.append(len(gather))
        arguments = {
            "packed_queries": _on(queries, torch.int32, device),
            "packed_keys": _on(keys, torch.int32, device),
            "packed_gather": _on(gather, torch.int64, device),
            "longest_queries": max(segment.end - segment.begin for segment in segments),
            "longest_keys": max(after - before for before, after in pairwise(keys)),
        }
    return Pack(
        _on(ids, torch.int64, device),
        _on(positions, torch.int64, device),
        _on(tails, torch.int64, device),
        arguments,
    )


def has_variable_length(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether one call can attend over all segments: in half precision, on Ampere or later."""
    return (
        device.type == "cuda"
        and dtype in (torch.bfloat16, torch.float16)
        and torch.cuda.get_device_capability(device) >= (8, 0)
    )


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **arguments: Any,
) -> tuple[torch.Tensor, None]:
    """Attention over a pack, called by transformers in every layer.

    query, key, value: [1, heads, tokens, dim]; keys and values of fewer heads where grouped.
    scaling: of the products; None means dim ** -0.5.
    sliding_window: keys that a query sees, itself included; None means all before it.
    arguments: `Pack.arguments`, and whatever else the model gives.

    Returns:
        [1, tokens, heads, dim], and no weights.

    Raises:
        NotImplementedError: the model wants something that packs do not have.
    """
    foreign = ("softcap", "s_aux", "position_bias")
    unknown = [name for name in foreign if arguments.get(name) is not None]
    if unknown or not getattr(module, "is_causal", True):
        raise NotImplementedError(", ".join(unknown) or "attention that sees later tokens")
    if attention_mask is not None:
        raise NotImplementedError("an attention mask")
    if "windows" in arguments:
        arguments["windows"].add(sliding_window)
    if "packed_queries" in arguments:
        out = _all_at_once(query, key, value, scaling, sliding_window, arguments)
    else:
        out = _one_by_one(module, query, key, value, scaling, sliding_window, arguments)
    return out, None


def _all_at_once(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scaling: float | None,
    sliding_window: int | None,
    arguments: dict[str, Any],
) -> torch.Tensor:
    from torch.nn.attention.varlen import varlen_attn

    gather = arguments["packed_gather"]
    attend_all: Any = varlen_attn  # its signature is another in torch 2.11 than in 2.13
    out: torch.Tensor = attend_all(
        query[0].transpose(0, 1),
        key[0].transpose(0, 1)[gather],
        value[0].transpose(0, 1)[gather],
        arguments["packed_queries"],
        arguments["packed_keys"],
        arguments["longest_queries"],
        arguments["longest_keys"],
        scale=scaling,
        window_size=(-1, 0) if sliding_window is None else (sliding_window - 1, 0),
        **({"enable_gqa": True} if _wants_gqa() else {}),
    )
    return out[None]


@cache
def _wants_gqa() -> bool:
    """Torch 2.13 must be told of grouped heads; 2.11 has no word for it and just takes them."""
    from torch.nn.attention.varlen import varlen_attn

    return "enable_gqa" in inspect.signature(varlen_attn).parameters


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _one_by_one(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scaling: float | None,
    sliding_window: int | None,
    arguments: dict[str, Any],
) -> torch.Tensor:
    """One call a segment. In the last layer only what is read matters; the rest holds nothing."""
    if "segments" not in arguments:
        raise NotImplementedError("its layers do not tell their attention of packs")
    segments: _Segments = arguments["segments"]
    last = getattr(module, "layer_idx", None) == arguments.get("last_layer")
    out = torch.zeros_like(query.transpose(1, 2))
    for segment in segments.segments:
        begin = segment.read if last else segment.begin
        n_queries, end, own = segment.end - begin, segment.end, segment.own
        if n_queries == 0:
            continue
        n_shared = segment.shared_end - segment.shared
        n_keys = n_shared + end - own
        windowed = sliding_window is not None and n_keys > sliding_window
        queries = query[:, :, begin:end]
        keys, values = key[:, :, own:end], value[:, :, own:end]
        if n_shared:
            shared = slice(segment.shared, segment.shared_end)
            keys = torch.cat((key[:, :, shared], keys), dim=2)
            values = torch.cat((value[:, :, shared], values), dim=2)
            if 3 * n_queries > n_keys and begin == own and not windowed:
                # Long beside what is shared: asked for the shared tokens again, it needs no mask.
                queries, n_queries = torch.cat((query[:, :, shared], queries), dim=2), n_keys
        mask = segments.mask(n_queries, n_keys, sliding_window if windowed else None, queries)
        out[:, begin:end] = torch.nn.functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=mask,
            is_causal=mask is None and n_queries > 1,
            scale=scaling,
            enable_gqa=query.shape[1] != key.shape[1],
        ).transpose(1, 2)[:, begin - end :]
    return out


def _mask(
    n_queries: int, n_keys: int, window: int | None, like: torch.Tensor
) -> torch.Tensor | None:
    """[queries, keys], 0 where a query sees a key, else -inf; the last of both are the same token.

    None where plain causality, or a single query that sees all, says as much.
    """
    if window is None and n_queries in (1, n_keys):
        return None
    before = n_keys - n_queries
    seen = torch.ones(n_queries, n_keys, dtype=torch.bool, device=like.device).tril(before)
    if window is not None:
        seen = seen.triu(before - window + 1)
    mask = torch.zeros(n_queries, n_keys, dtype=like.dtype, device=like.device)
    return mask.masked_fill_(~seen, -torch.inf)


def _on(values: "array[int]", dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    if not values:
        return torch.empty(0, dtype=dtype, device=device)
    return torch.frombuffer(values, dtype=dtype).to(device)


AttentionInterface.register(NAME, attend)
