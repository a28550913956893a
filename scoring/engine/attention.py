"""Attention for packs: many pairs in one row of tokens, what a pair's sides share computed once.

A pair with a common prefix of p tokens is written as its whole chosen sequence followed by
rejected[p:] at positions p, p + 1, ... Queries of the second segment see the first p tokens of the
first one, then their own. So do those of further responses of the same row. Everything in a decoder
but attention is position-wise and notices nothing. No padding, no mask: a call of variable length
on CUDA, one call a segment elsewhere.
"""

import inspect
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from transformers import AttentionInterface

from scoring.engine.formatting import Prepared, TokenSequence

NAME = "shared_prefix_packs"  # under which transformers knows this attention
_BY_HAND = ("softcap", "s_aux")  # arguments of a model's attention that kernels do not know
_PRODUCTS = 2**26  # of queries with keys, at once where a segment is computed by hand


class Segment(NamedTuple):
    """Queries and their keys, as places among the written tokens.

    Queries are begin to end. Keys are shared to shared_end (of a segment before it), then begin to
    end. From read on, queries matter even in the last layer.
    """

    begin: int
    end: int
    shared: int
    shared_end: int
    read: int


@dataclass(frozen=True, slots=True)
class _Segments:
    segments: tuple[Segment, ...]
    masks: dict[Any, torch.Tensor] = field(default_factory=dict)

    def mask(self, n_queries: int, n_keys: int, window: int | None, like: torch.Tensor) -> Any:
        # 0 where a query sees a key, else -inf; None where plain causality, or a single query that
        # sees all, says as much.
        if window is None and n_queries in (1, n_keys):
            return None
        key = (n_queries, n_keys, window, like.device)
        if key not in self.masks:
            before = n_keys - n_queries
            seen = torch.ones(n_queries, n_keys, dtype=torch.bool, device=like.device).tril(before)
            if window is not None:
                seen = seen.triu(before - window + 1)
            mask = torch.zeros(n_queries, n_keys, dtype=like.dtype, device=like.device)
            self.masks[key] = mask.masked_fill_(~seen, -torch.inf)
        return self.masks[key]


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack as one row of tokens, on a device.

    ids, positions: [tokens].
    tails: [reads], the places at which rewards are read: of each pair, the last `tail` of its
        chosen sequence and then of its rejected one.
    arguments: of the model's forward, for its attention.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    tails: torch.Tensor
    arguments: dict[str, Any]


def write_pack(pairs: Sequence[Prepared], device: torch.device, *, variable_length: bool) -> Pack:
    """Write a pack on a device. variable_length: for one call over all segments, else one each."""
    ids, positions, tails, gather = array("q"), array("q"), array("q"), array("q")
    queries, keys = array("q", [0]), array("q", [0])
    segments: list[Segment] = []
    first_of: dict[str, int] = {}

    def write(side: TokenSequence, first: int, shared: int) -> None:
        # Of its tokens, the shared ones stand from the place `first` on already.
        begin, read = len(ids), side.first_read
        own_read = begin + max(0, read - shared)
        ids.extend(side.ids[shared:])
        positions.extend(range(side.start + shared, side.start + len(side.ids)))
        tails.extend(range(first + read, first + shared))
        tails.extend(range(own_read, len(ids)))
        if read < shared:
            segments[-1] = segments[-1]._replace(read=min(segments[-1].read, first + read))
        if len(ids) > begin:
            segments.append(Segment(begin, len(ids), first, first + shared, own_read))

    for pair in pairs:
        begin = len(ids)
        first = first_of.setdefault(pair.row, begin) if pair.row else begin
        if not pair.common or first == begin:
            write(pair.chosen, begin, 0)
            write(pair.rejected, begin, pair.shared)
            continue
        write(pair.chosen, first, pair.common)
        if pair.is_equal:
            tails.extend(range(len(ids) - pair.rejected.tail, len(ids)))
        else:
            write(pair.rejected, first, pair.common)
    if variable_length:
        for segment in segments:
            gather.extend(range(segment.shared, segment.shared_end))
            gather.extend(range(segment.begin, segment.end))
            queries.append(segment.end)
            keys.append(len(gather))
    columns = (ids, positions, tails, gather, queries, keys)
    row = sent(torch.frombuffer(sum(columns, array("q")), dtype=torch.int64), device)
    parts = torch.split(row, [len(column) for column in columns])
    all_ids, all_positions, reads, places, ends_of_queries, ends_of_keys = parts
    arguments: dict[str, Any] = {"segments": _Segments(tuple(segments))}
    if variable_length:
        arguments = {
            "packed_queries": ends_of_queries.int(),
            "packed_keys": ends_of_keys.int(),
            "packed_gather": places,
            "longest_queries": _rounded(segment.end - segment.begin for segment in segments),
            "longest_keys": _rounded(after - before for before, after in pairwise(keys)),
            "packed_options": _options(),  # here, where no compiler reads along
        }
    return Pack(all_ids, all_positions, reads, arguments)


def sent(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Values of the CPU on a device, without waiting for the copy."""
    return (values.pin_memory() if device.type == "cuda" else values).to(device, non_blocking=True)


def fetched(values: torch.Tensor) -> Callable[[], list[Any]]:
    """A function that gives values of a device as a list, and waits for no later work there."""
    if not values.is_cuda:
        return values.tolist
    here = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    here.copy_(values, non_blocking=True)
    copied: Any = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
    copied.record(torch.cuda.current_stream(values.device))

    def wait() -> list[Any]:
        copied.synchronize()
        return here.tolist()

    return wait


def _rounded(lengths: Iterable[int]) -> int:
    # A power of two, for a compiler to see few.
    return 1 << (max(lengths) - 1).bit_length()


def has_variable_length(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether one call can attend over all segments: in half precision, on Ampere or later."""
    return (
        device.type == "cuda"
        and dtype in (torch.bfloat16, torch.float16)
        and torch.cuda.get_device_capability(device) >= (8, 0)
    )


def is_by_hand(model: Any) -> bool:
    """Whether a model caps the products of its attention or has sinks, as no kernel here knows."""
    capped = getattr(model.config.get_text_config(), "attn_logit_softcapping", None) is not None
    return capped or any(name.endswith(".sinks") for name, _ in model.named_parameters())


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
    arguments: `Pack.arguments`, and whatever else the model gives: softcap, beyond which no product
        goes, and s_aux, [heads], what each head may look at instead of a key (a sink).

    Returns [1, tokens, heads, dim], and no weights; raises NotImplementedError for a model that
    wants something that packs do not have.
    """
    if arguments.get("position_bias") is not None:
        raise NotImplementedError("position_bias")
    if not getattr(module, "is_causal", True):
        raise NotImplementedError("attention that sees later tokens")
    if attention_mask is not None:
        raise NotImplementedError("an attention mask")
    if "windows" in arguments:
        arguments["windows"].add(sliding_window)
    if "packed_queries" not in arguments:
        return _one_by_one(module, query, key, value, scaling, sliding_window, arguments), None
    unknown = [name for name in _BY_HAND if arguments.get(name) is not None]
    if unknown:
        raise NotImplementedError(f"{unknown[0]} in one call over all segments")
    from torch.nn.attention.varlen import varlen_attn

    gather, width = arguments["packed_gather"], value.shape[-1]
    if width < query.shape[-1]:  # as MLA's are
        value = torch.nn.functional.pad(value, (0, query.shape[-1] - width))
    attend_all: Any = varlen_attn  # its signature is another in torch 2.11 than in 2.13
    out = attend_all(
        query[0].transpose(0, 1),
        key[0].transpose(0, 1)[gather],
        value[0].transpose(0, 1)[gather],
        arguments["packed_queries"],
        arguments["packed_keys"],
        arguments["longest_queries"],
        arguments["longest_keys"],
        scale=scaling,
        window_size=(-1, 0) if sliding_window is None else (sliding_window - 1, 0),
        **arguments["packed_options"],
    )
    return out[None, ..., :width], None


@cache
def _options() -> dict[str, Any]:
    # Torch 2.11 has no option for grouped heads and just takes them. Keys that are not split make
    # a segment's result the same whatever is beside it.
    from torch.nn.attention.varlen import varlen_attn

    known = inspect.signature(varlen_attn).parameters
    return {name: to for name, to in (("enable_gqa", True), ("num_splits", 1)) if name in known}


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
    if "segments" not in arguments:
        raise NotImplementedError("its layers do not tell their attention of packs")
    segments: _Segments = arguments["segments"]
    last = getattr(module, "layer_idx", None) == arguments.get("last_layer")
    by_hand = {name: arguments[name] for name in _BY_HAND if arguments.get(name) is not None}
    out = query.new_zeros(1, query.shape[2], query.shape[1], value.shape[-1])
    for segment in segments.segments:
        own, end = segment.begin, segment.end
        begin = segment.read if last else own
        n_queries = end - begin
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
            if 3 * n_queries > n_keys and begin == own and not windowed and not by_hand:
                # Long beside what is shared: asked for the shared tokens again, it needs no mask.
                queries, n_queries = torch.cat((query[:, :, shared], queries), dim=2), n_keys
        window = sliding_window if windowed else n_keys if by_hand else None
        mask = segments.mask(n_queries, n_keys, window, queries)
        if by_hand:
            out[:, begin:end] = _weighed(queries, keys, values, mask, scaling, **by_hand)
            continue
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


def _weighed(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor,
    scaling: float | None,
    *,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
) -> torch.Tensor:
    heads, n_keys = queries.shape[1], keys.shape[2]
    keys, values = (each.repeat_interleave(heads // each.shape[1], 1) for each in (keys, values))
    scale = queries.shape[-1] ** -0.5 if scaling is None else scaling
    rows = max(1, _PRODUCTS // (heads * n_keys))
    parts = []
    for some, hidden in zip(
        torch.split(queries, rows, dim=2), torch.split(mask, rows), strict=True
    ):
        products = (some @ keys.transpose(2, 3)).float() * scale
        if softcap is not None:
            products = torch.tanh(products / softcap) * softcap
        products = products + hidden
        if s_aux is not None:
            sinks = s_aux.float().view(1, -1, 1, 1).expand(-1, -1, products.shape[2], 1)
            products = torch.cat((products, sinks), dim=3)
        weights = products.softmax(dim=3)[..., :n_keys]
        parts.append(weights.to(values.dtype) @ values)
    return torch.cat(parts, dim=2).transpose(1, 2)


AttentionInterface.register(NAME, attend)
