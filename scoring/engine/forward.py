"""How token sequences go through a model: packed where that is right, else padded.

`choose` decides by what the model is and then proves it: a few pairs are scored one sequence at a
time and by the chosen path, which must agree as nearly as rounding lets them. How far that moves
rewards is measured: the pairs are scored again with what the layers give moved by the last bit at
random, which moves tiny random decoders in bfloat16 0.6 to 3 times as far as they are off float32.
Source: D. S. Parker, Monte Carlo Arithmetic (UCLA CSD-970002, 1997).
"""

import copy
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from scoring.engine import attention
from scoring.engine.formatting import Prepared, TokenSequence
from scoring.engine.packing import padded_batches, split
from scoring.engine.scorer import Rewards
from scoring.errors import KnownError, first_line

logger = logging.getLogger(__name__)

PACKED = "packed, shared prefixes computed once"
_CPU_ROW = 2048  # tokens a CPU computes at once: about what its caches hold
_NO_MEMORY = ("can't allocate memory", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
"""In messages of errors that have no kind of their own."""
_REPETITIONS = 2  # of a few pairs with other last bits, of which a quarter is moved
_NOISES = 3.0  # how many times as far as these another right way may be off
_OF_SPREAD, _OF_SIZE = 1e-4, 1e-6
"""What it may be off besides: heads and sums are in float32, whatever the model."""

RewardReader = Callable[[torch.Tensor, Sequence[Prepared]], Rewards]
"""Rewards from what a `Forward` gives."""


class Packed:
    """All pairs in one row without padding, the prefix that a pair's sides share computed once.

    Between two packs the model is as it was.
    narrow: let the last layer's feed-forward see only the tokens that are read.
    """

    def __init__(self, model: Any, *, narrow: bool) -> None:
        self.path = PACKED
        self._model = model
        self._base = _base_of(model)
        self.layers: Any = getattr(self._base, "layers", None) or getattr(self._base, "h", None)
        one_call = attention.has_variable_length(model.device, model.dtype)
        self._variable = one_call and not attention.is_by_hand(model)
        self._row = _CPU_ROW if model.device.type == "cpu" else sys.maxsize
        self._compiled: list[tuple[Any, Any]] = []
        self._attentions = _attentions(model)
        self._last = len(self.layers or ()) - 1 if narrow else -1

    def __call__(self, pairs: Sequence[Prepared], **arguments: Any) -> torch.Tensor:
        """[reads, width]: last hidden states at both tails of each. arguments: of `attend`, too."""
        rows = split(range(len(pairs)), [pair.cost for pair in pairs], self._row)
        packs = [[pairs[place] for place in row] for row in rows]
        try:
            with self._in_force():
                return torch.cat([self._run(pack, arguments) for pack in packs])
        except Exception as error:  # a compiler, of any kind, on any machine
            if not self._compiled or is_out_of_memory(error):
                raise
            logger.warning("compiled layers fail", exc_info=True)
            self._give_up_compiling(first_line(error))
        return self(pairs, **arguments)

    def _run(self, pairs: Sequence[Prepared], arguments: dict[str, Any]) -> torch.Tensor:
        pack = attention.write_pack(pairs, self._model.device, variable_length=self._variable)
        with _tails_only(self.layers[-1], pack) if self._last >= 0 else nullcontext():
            hidden = self._base(
                input_ids=pack.ids[None],
                position_ids=pack.positions[None],
                use_cache=False,
                **pack.arguments,
                **arguments,
                last_layer=self._last,
            ).last_hidden_state[0]
        read: torch.Tensor = hidden[pack.tails.to(hidden.device)]
        return read

    @contextmanager
    def _in_force(self) -> Iterator[None]:
        for config, _ in self._attentions:
            config._attn_implementation_internal = attention.NAME
        for layer, call in self._compiled:
            layer._compiled_call_impl = call
        try:
            yield
        finally:
            for config, stock in self._attentions:
                config._attn_implementation_internal = stock
            for layer, _ in self._compiled:
                layer._compiled_call_impl = None

    def compile(self, find_mismatch: Callable[[], str]) -> None:
        """Compile the decoder layers, once, for packs of any length.

        Where that fails or changes rewards they stay as they were, and `path` says why.
        find_mismatch: scores by this path; as `Proof.mismatch`.
        """
        if self.path != PACKED:
            return
        if self.layers is None:
            self._give_up_compiling("its layers are not where they are looked for")
            return
        layers = self.layers[:-1] if self._last >= 0 else self.layers
        self._compiled = [(each, torch.compile(each._call_impl, dynamic=True)) for each in layers]
        self.path = f"{PACKED}, layers compiled"
        try:
            why = find_mismatch()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            why = first_line(error)
        if why:
            self._give_up_compiling(why)

    def _give_up_compiling(self, why: str) -> None:
        self._compiled = []
        self.path = f"{PACKED}; not compiled: {why}"


@contextmanager
def _tails_only(layer: Any, pack: attention.Pack) -> Iterator[None]:
    """Spare the last layer the feed-forward of tokens that nobody reads: its output is 0 there."""

    def select(_: Any, inputs: tuple[torch.Tensor, ...]) -> Any:
        return (inputs[0][:, pack.tails.to(inputs[0].device)],)

    def spread(_: Any, __: Any, output: torch.Tensor) -> Any:
        whole = output.new_zeros(1, len(pack.ids), output.shape[2])
        whole[:, pack.tails.to(output.device)] = output
        return whole

    hooks = []
    for part in (layer.self_attn.o_proj, layer.mlp):
        hooks.append(part.register_forward_pre_hook(select, prepend=True))
        hooks.append(part.register_forward_hook(spread))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class Padded:
    """Both sides of all pairs in right-padded batches of similar length.

    batch_tokens: of a forward pass at most, padding counted. why: this path is taken.
    whole: give the whole model's output for a sequence, not the hidden states of its tail.
    """

    def __init__(self, model: Any, batch_tokens: int, *, whole: bool, why: str) -> None:
        self.path = f"padded: {why}" if batch_tokens > 1 else f"one sequence at a time: {why}"
        self._model = model
        self._whole = whole
        self._batch_tokens = batch_tokens
        reads_at_eos = whole and getattr(model.config, "is_encoder_decoder", False)
        self._counted = model.config.eos_token_id if reads_at_eos else None

    def __call__(self, pairs: Sequence[Prepared]) -> torch.Tensor:
        """[reads, width]: what is read of the pairs; equal sequences are computed once."""
        sides = [side for pair in pairs for side in pair.sides]
        # Encoder-decoders refuse different numbers of EOS in a batch.
        alike: dict[int, list[TokenSequence]] = {}
        for side in dict.fromkeys(sides):
            alike.setdefault(side.ids.count(self._counted), []).append(side)
        read: dict[TokenSequence, torch.Tensor] = {}
        for some in alike.values():
            lengths = [side.start + len(side.ids) for side in some]
            for batch in padded_batches(lengths, self._batch_tokens):
                taken = [some[place] for place in batch]
                read.update(zip(taken, self._batch(taken), strict=True))
        return torch.cat([read[side] for side in sides])

    def _batch(self, sides: Sequence[TokenSequence]) -> list[torch.Tensor]:
        device = self._model.device
        starts = torch.tensor([side.start for side in sides])
        # Classifiers find the end of a text by it.
        pad = self._model.config.get_text_config().pad_token_id or 0
        rows = [torch.tensor((pad,) * side.start + side.ids) for side in sides]
        lengths = torch.tensor([len(row) for row in rows])
        ids = pad_sequence(rows, batch_first=True, padding_value=pad)
        places = torch.arange(ids.shape[1])
        inputs = {"input_ids": attention.sent(ids, device)}
        if len(rows) > 1 or starts.any():
            mask = (places >= starts[:, None]) & (places < lengths[:, None])
            inputs["attention_mask"] = attention.sent(mask.long(), device)
        if self._whole:
            return list(self._model(**inputs).logits.split(1))
        hidden = _base_of(self._model)(**inputs, use_cache=False).last_hidden_state
        ends = zip(hidden, lengths.tolist(), sides, strict=True)
        return [row[end - side.tail : end] for row, end, side in ends]


Forward = Packed | Padded
"""One way of running pairs through a model, which `path` names in words."""


@contextmanager
def running(name: str, *, is_check: bool = False) -> Iterator[None]:
    """Run a stranger's model inside: what it raises, but a lack of memory, is a `KnownError` then.

    name: of it. is_check: on the few pairs of a model's loading, where no memory is one, too.
    """
    try:
        yield
    except KnownError:
        raise
    except Exception as error:
        if not is_out_of_memory(error):
            logger.warning("%s cannot be run", name, exc_info=True)
            raise KnownError(
                f"{name} cannot be run: {first_line(error)}. Its config or tokenizer may not go "
                "with its weights: choose another model."
            ) from error
        if not is_check:
            raise
        raise KnownError(
            f"{name} fits in memory, but nothing beside it: two short pairs cannot be scored. "
            "Use a smaller model, a dtype of two bytes, or a device with more memory."
        ) from error


def is_out_of_memory(error: Exception) -> bool:
    """Also of the allocators of CPU, MPS and cuBLAS, which have no error of their own."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """What a few pairs score, or log-probabilities, and what another right way may differ by."""

    expected: torch.Tensor
    tolerance: float

    def mismatch(self, got: Rewards | torch.Tensor) -> str:
        """Return how far other numbers are off, in words; "" within the tolerance."""
        ours = torch.as_tensor(got, dtype=torch.float64)
        apart = (ours - self.expected).abs().nan_to_num(nan=0.0).max().item()
        if (ours.isnan() != self.expected.isnan()).any() or not apart <= self.tolerance:
            return f"differ by {apart:.2g} from one sequence at a time"
        return ""


def proof_of(model: Any, score: Callable[[], Rewards | torch.Tensor]) -> Proof:
    """Take a model's own numbers, and measure how far rounding moves them.

    score: computes them one sequence at a time, on the CPU in the end; called several times.
    """
    expected = torch.as_tensor(score(), dtype=torch.float64)
    known = expected[expected.isfinite()]
    if not len(known):
        return Proof(expected, 0.0)
    with _other_last_bits(model):
        again = [torch.as_tensor(score(), dtype=torch.float64) for _ in range(_REPETITIONS)]
    noise = (torch.stack(again) - expected).abs().nan_to_num(nan=0.0, posinf=0.0).max().item()
    spread = (known.max() - known.min()).item()
    size = known.abs().max().item()
    return Proof(expected, _NOISES * noise + _OF_SPREAD * spread + _OF_SIZE * size)


@contextmanager
def _other_last_bits(model: Any) -> Iterator[None]:
    generators: dict[torch.device, torch.Generator] = {}

    def moved(values: Any) -> Any:
        if not isinstance(values, torch.Tensor) or not values.is_floating_point():
            return values
        device, dtype = values.device, values.dtype
        if device not in generators:
            generators[device] = torch.Generator(device).manual_seed(0)
        dice = torch.randint(0, 8, values.shape, generator=generators[device], device=device)
        signs = (dice == 0).to(dtype) - (dice == 1).to(dtype)
        return values * (1 + torch.finfo(dtype).eps * signs)

    def move(_: Any, __: Any, output: Any) -> Any:
        return (moved(output[0]), *output[1:]) if type(output) is tuple else moved(output)

    layers = {
        each for part in model.modules() if isinstance(part, torch.nn.ModuleList) for each in part
    }
    hooks = [layer.register_forward_hook(move) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def choose(
    model: Any, read: RewardReader, check: Sequence[Prepared], budget: int, *, whole: str
) -> tuple[Forward, Proof]:
    """The fastest path that gives a model's own rewards, and what proves that it does.

    check: a few pairs to prove the path with. budget: tokens a forward pass may hold.
    whole: why the reward is read from the whole model's output; "" for its last hidden states.
    """
    with torch.inference_mode():
        is_half = bool(whole) and model.dtype != torch.float32
        run_model = _with_wide_head(model, check) if is_half else model
        single = Padded(run_model, 1, whole=bool(whole), why="")
        proof = proof_of(model, lambda: read(single(check), check))
        why = whole
        if not whole:
            why = _not_attention_only(model)
            for narrow in () if why else (True, False):
                packed = _packed(model, read, check, proof, narrow=narrow)
                if isinstance(packed, Packed):
                    return packed, proof
                why = packed
            why = f"packs do not suit this model ({why})"
        if is_half and run_model is model:
            why += f", its head in {str(model.dtype).removeprefix('torch.')}"
        padded = Padded(run_model, budget, whole=bool(whole), why=why)
        mismatch = proof.mismatch(read(padded(check), check))
    if mismatch:
        return Padded(run_model, 1, whole=bool(whole), why=f"{why}; batches {mismatch}"), proof
    return padded, proof


def _with_wide_head(model: Any, check: Sequence[Prepared]) -> Any:
    # All but its base in float32, for rewards in two bytes would tie; a stranger's may not run so.
    base = getattr(model, model.base_model_prefix, None)
    if base is None or base is model:  # then the largest part is
        sizes = {part: sum(map(torch.numel, part.parameters())) for part in model.children()}
        base = max(sizes, key=sizes.__getitem__, default=None)
    wide = copy.copy(model)
    vars(wide).pop("forward", None)  # that accelerate puts there is bound to the model
    wide._modules = {
        name: part if part is base else _in_float32(part) for name, part in model._modules.items()
    }
    wide._parameters = {name: _widened(each) for name, each in model._parameters.items()}
    wide._buffers = {name: _widened(each) for name, each in model._buffers.items()}
    try:
        Padded(wide, 1, whole=True, why="")(check)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        logger.info("the head cannot be float32", exc_info=True)
        return model
    return wide


def _in_float32(part: Any) -> Any:
    if part is None:
        return None
    wide = copy.deepcopy(part).float()
    wide.register_forward_pre_hook(lambda _, inputs: tuple(map(_widened, inputs)))
    return wide


def _widened(value: Any) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.float() if is_float else value


def _not_attention_only(model: Any) -> str:
    # Rewards cannot show it: of states that one pair leaves to the next little may be seen.
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    others = {*map(str, kinds or ())} - {"attention", "full_attention", "sliding_attention"}
    if others:
        return f"it has layers of {', '.join(sorted(others)).replace('_', ' ')}"
    if any(getattr(each, "_is_stateful", False) for each in (model, _base_of(model))):
        return "its layers keep a state"
    return ""


def _packed(
    model: Any, read: RewardReader, check: Sequence[Prepared], proof: Proof, *, narrow: bool
) -> Packed | str:
    try:
        packed = Packed(model, narrow=narrow)
        windows: set[int | None] = set()
        why = proof.mismatch(read(packed(check, windows=windows), check))
        # The check pairs are shorter than most windows, so that rewards cannot show one.
        config = model.config.get_text_config()
        kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
        window = getattr(config, "sliding_window", None)
        if not why and window and "sliding_attention" in kinds and window not in windows:
            why = "its sliding window stands in its mask alone"
        if not why:
            return packed
    except Exception as error:  # any model may refuse what packs ask of it
        if is_out_of_memory(error):
            raise
        why = first_line(error)
    logger.info("no packs for this model (narrow: %s): %s", narrow, why)
    return why


def _attentions(model: Any) -> list[tuple[Any, Any]]:
    # The configs by which its layers find their attention, each with its name now.
    configs = {id(part.config): part.config for part in model.modules() if hasattr(part, "config")}
    stock = [(config, config._attn_implementation) for config in configs.values()]
    before = model.config._attn_implementation
    model.set_attn_implementation(attention.NAME)
    replaced = model.config._attn_implementation == attention.NAME
    changed = [(config, had) for config, had in stock if config._attn_implementation != had]
    model.set_attn_implementation(before)
    for config, had in changed:
        config._attn_implementation_internal = had
    if not replaced:
        raise NotImplementedError("no replaceable attention")
    return changed


def _base_of(model: Any) -> Any:
    base = getattr(model, model.base_model_prefix, None)
    if base is None:
        raise KnownError(f"{type(model).__name__} does not give its hidden states as others do.")
    return base
