"""A run against what is published of the same model: how far apart, and whether settings say why.

The same model on the same pairs leaves nothing to chance: each pair that changed did so because
something was done otherwise. What is known of how far that goes, of RewardBench:

- A doubled BOS changes scores by about one point (upstream's threads 164 and 166), the
  number type rewards (thread 163, without a figure). Of 2,985 pairs, 52 (1.7 %) change for the
  bundled demo model with bfloat16 in place of float32, all among the tenth with the narrowest
  margins, and none with upstream's tokens.
- Batches of 2 and 3 in place of 1 changed the accuracy of beaver-7b-v1.0-cost on UltraFeedback's
  pairs from .429 to .476 and .480 (thread 137): by 5.1 points. Of larger ones nothing is known.
  Here rewards do not depend on the batch, as if it were 1.
- A longest sequence of 512 in place of 2,048 tokens, the defaults of upstream's command line and
  of its run_rm.py, changes truncated pairs alone: 93 of the demo model's (3 %), no section by more
  than 1.4 points. Of 8-bit weights, upstream's default for most models, no figure is known.
- GPM-Gemma-2B's own file and the leaderboard differ by 7.0 points in Chat, 3.5 in Chat Hard, 3.1
  in Safety and 5.0 in Reasoning.
- reward-model-deberta-v3-large-v2 in arXiv 2403.13787v2 and on the leaderboard differs by 22.4
  points in Chat Hard, and by 6.1, 2.5 and 4.5 in the others, without a reason given. The 46 other
  models that both have are equal to the last digit that is printed.

The rule, of the score and of each section: up to `SMALL`, with at most `FEW_CHANGED` of the pairs
changed, is what number type and a BOS are known to do. Up to `LARGEST` is what another template,
length, reference model or 8-bit weights may explain, and up to `BATCH` another batch size, but only
where one of them is not known to be the same. Beyond that, nothing known does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from scoring.benchmark import COUNTS, SECTIONS, overall_score
from scoring.interval import wilson
from scoring.models.catalogue import board_models
from scoring.results.files import REFERENCE_FREE
from scoring.spec import RunFacts, ScoredPair
from scoring.summary import summarise

SMALL = 0.01
"""A difference of scores, 0 to 1."""
FEW_CHANGED = 0.05
"""Of the pairs."""
LARGEST, BATCH = 0.224, 0.051
"""By how much, 0 to 1, other settings and another batch size have moved a score of one and the same
model; the head of this file says where."""
OWN = "the tokenizer's own"
"""A chat template."""
RESULTS = "allenai/reward-bench-results"
"""Where upstream publishes."""
RUN_RM_LENGTH = 2048
RUN_RM_DTYPE = "float16"
"""What upstream's run_rm.py takes where its configuration does not say."""


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """What published results were made with; None where that is not known.

    template: the chat template that the configuration names; it is used where the tokenizer has
        none of its own.
    max_length: in tokens. dtype: as torch calls it. reference: of a DPO model; "" for none.
    quantized: whether weights were cut to 8 bits. batch: pairs in a batch.
    """

    template: str | None = None
    max_length: int | None = None
    dtype: str | None = None
    reference: str | None = None
    quantized: bool | None = None
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting on both sides.

    name: "template", "max_length", "reference", "dtype", "batch" or "quantized".
    here, there: in plain words; there is "" where it is not known.
    largest: the largest change of a score, 0 to 1, that it may explain; 0 where that is small.
    """

    name: str
    here: str
    there: str
    largest: float

    @property
    def differs(self) -> bool | None:
        """None where one side is not known."""
        return self.here != self.there if self.there else None


NOT_KNOWN = BoardSettings()


def board_settings(model: str) -> BoardSettings:
    """What the RewardBench board was made with for a model, by upstream's configurations.

    Where they set no length or number type, run_rm.py's are meant; with bfloat16, and for models
    called Llama 3, it does not cut weights to 8 bits, and for others that is not told. Of DPO
    models the code is another, so that what is not set is not known.
    Source: scripts/configs/eval_configs.yaml and scripts/run_rm.py of allenai/reward-bench.

    model: the published name.

    >>> board_settings("sfairXC/FsfairX-LLaMA3-RM-v0.1").max_length, board_settings("a/b").template
    (2048, None)
    """
    name = model.removesuffix(REFERENCE_FREE).strip().partition("@")[0]
    board = board_models().get(name)
    if board is None:
        return NOT_KNOWN
    is_dpo = board.family == "dpo"
    whole = board.dtype == "bfloat16" or "llama3" in model.casefold().replace("-", "")
    return BoardSettings(
        template=board.template,
        max_length=board.length or (None if is_dpo else RUN_RM_LENGTH),
        dtype=board.dtype or (None if is_dpo else RUN_RM_DTYPE),
        reference="" if model.endswith(REFERENCE_FREE) else board.reference,
        quantized=False if whole and not is_dpo else None,
        batch=board.batch,
    )


def settings_of(
    facts: RunFacts, scored: Sequence[ScoredPair], board: BoardSettings
) -> tuple[Setting, ...]:
    """The settings of a run that can change a number, beside the published ones.

    Here rewards do not depend on what is computed beside a pair, as if each batch were of one.

    Upstream uses the tokenizer's own chat template where there is one, so where the run did, both
    are the same. A longest sequence matters where a pair is longer on either side.

    Args:
        facts: the run's.
        scored: its pairs.
        board: what the published was made with.
    """
    named = facts.template.partition(":")[0]
    template = OWN if named == "own" else named
    there = OWN if named == "own" and board.template is not None else board.template
    longest = max((max(row.chosen_tokens, row.rejected_tokens) for row in scored), default=0)
    cut = any(row.chosen_truncated or row.rejected_truncated for row in scored)
    matters = cut or longest > (board.max_length or RUN_RM_LENGTH)
    length = "" if board.max_length is None else f"{board.max_length:,}"
    found = [
        Setting("template", template, there or "", LARGEST),
        Setting("max_length", f"{facts.max_length:,}", length, LARGEST if matters else 0.0),
        Setting("dtype", facts.dtype, board.dtype or "", 0.0),
        Setting("batch", "1", "" if board.batch is None else f"{board.batch}", BATCH),
    ]
    reference = facts.reference.partition("@")[0]
    if reference or board.reference:
        found.append(Setting("reference", reference, board.reference or "", LARGEST))
    bits = {None: "", True: "yes", False: "no"}[board.quantized]
    return (*found, Setting("quantized", "no", bits, LARGEST))


CheckBasis = Literal["pairs", "sections"]
CheckVerdict = Literal["same", "small", "few", "settings", "unknown", "unexplained", "nothing"]
"""same: no pair changed. small: see `SMALL`. few: more than that, but of so few pairs that it may
be no more. settings: more, and a setting that can do it differs. unknown: more, and such a setting
is not known. unexplained: more, and they are the same, or more than any is known to do. nothing:
there is nothing to compare."""


class Changed(Protocol):
    """Pairs that are known of both sides.

    n: how many. n_differing: of how many the outcomes differ.
    interval: of the difference of the scores, 95 %; None where it is not known.
    """

    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def n_differing(self) -> int: ...  # noqa: D102
    @property
    def interval(self) -> tuple[float, float] | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Check:
    """One number on both sides.

    section: "" for the score (of pairs that are none of RewardBench's, the accuracy).
    n: pairs of the run that count in it; where single pairs are known, of both.
    here, there: 0 to 1; None where it is not known, or not of the same pairs.
    pairs: who wins which; None where only scores are published.
    """

    section: str
    n: int
    here: float | None
    there: float | None
    pairs: Changed | None = None

    @property
    def difference(self) -> float | None:
        """Here minus there, -1 to 1."""
        return None if self.here is None or self.there is None else self.here - self.there


@dataclass(frozen=True, slots=True)
class PublishedCheck:
    """A run beside what is published of its model.

    model: its published name.
    basis: "pairs" where results of each pair are published: both numbers are of the same pairs.
        "sections" where only scores are: sections that the run has whole are compared.
    parts: the score, then the sections, of which both sides are known or the run has pairs.
    settings: those of which both sides may matter.
    won, lost, tied: keys of pairs that are won here and not there, the other way round, and tied
        on one side alone and lost on the other, in the table's order; () where single pairs are
        not known.
    n: pairs that are compared; 0 where only scores are.
    near: of the changed pairs, the share whose margin is among the run's narrowest (`NARROWEST`);
        None where none changed or there are no margins.
    query: what the Models tab is asked for to show the two; "" where single pairs are not known.
    """

    model: str
    basis: CheckBasis
    parts: tuple[Check, ...]
    settings: tuple[Setting, ...]
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    tied: tuple[str, ...] = ()
    n: int = 0
    near: float | None = None
    query: str = ""

    @property
    def largest(self) -> Check | None:
        """The section, or the score, that differs most; None where none is known on both sides."""
        return max(self._known, key=lambda part: abs(part.difference or 0.0), default=None)

    @property
    def suspects(self) -> list[Setting]:
        """Settings that may explain the differences: each has made as large ones, and is not known
        to be the same on both sides.
        """
        return [
            each
            for each in self.settings
            if each.largest
            and each.differs is not False
            and not any(_differs_surely(part, each.largest) for part in self._known)
        ]

    @property
    def verdict(self) -> CheckVerdict:
        """What that says, see `CheckVerdict`."""
        if not self._known:
            return "nothing"
        if all(part.pairs and not part.pairs.n_differing for part in self._known):
            return "same"
        if not any(map(_is_beyond, self._known)):
            return "small"
        if not any(map(_is_surely_beyond, self._known)):
            return "few"
        suspects = [each.differs for each in self.suspects]
        return "settings" if True in suspects else "unknown" if suspects else "unexplained"

    @property
    def _known(self) -> list[Check]:
        return [part for part in self.parts if part.difference is not None]


def check_sections(
    facts: RunFacts,
    scored: Sequence[ScoredPair],
    model: str,
    sections: Mapping[str, float | None],
    board: BoardSettings = NOT_KNOWN,
) -> PublishedCheck:
    """A run against published section scores: those sections of which it has every pair.

    Args:
        facts: the run's.
        scored: its pairs.
        model: the published name.
        sections: published scores by section, 0 to 1; None where one is not known.
        board: what the published was made with.
    """
    summary = summarise(scored, facts.family, facts.benchmark)
    tallies = summary.subsets
    n_of = {each: sum(tallies[each].counts.values()) for each in tallies}
    there = {
        section: sections.get(section)
        if all(n_of.get(each) == COUNTS[each] for each in subsets)
        else None
        for section, subsets in SECTIONS.items()
    }
    parts = [
        Check(section, tally.n, summary.sections[section], there[section])
        for section in SECTIONS
        if (tally := summary.section_tallies.get(section))
    ]
    if None not in there.values():
        parts.insert(0, Check("", summary.total.n, summary.score, overall_score(there)))
    return PublishedCheck(model, "sections", tuple(parts), settings_of(facts, scored, board))


def _is_beyond(part: Check) -> bool:
    """Whether more changed than number type and the like are known to change; one pair may."""
    if part.pairs is None:
        return abs(part.difference or 0.0) > SMALL
    changed = part.pairs.n_differing
    if changed <= 1:
        return False
    return abs(part.difference or 0.0) > SMALL or changed > FEW_CHANGED * part.pairs.n


def _is_surely_beyond(part: Check) -> bool:
    """Whether it would be so of all pairs of the part, too."""
    if not _is_beyond(part) or part.pairs is None or _is_whole(part):
        return _is_beyond(part)
    changed = wilson(part.pairs.n_differing, part.pairs.n)
    return _differs_surely(part, SMALL) or (changed is not None and changed.low > FEW_CHANGED)


def _differs_surely(part: Check, limit: float) -> bool:
    """Whether the difference is larger; of some of a part's pairs, by its 95 % interval."""
    ends = None if part.pairs is None or _is_whole(part) else part.pairs.interval
    if ends is None:
        return abs(part.difference or 0.0) > limit
    return ends[0] > limit or ends[1] < -limit


def _is_whole(part: Check) -> bool:
    """Whether these are all pairs that RewardBench has of the section."""
    subsets = SECTIONS.get(part.section, COUNTS)
    return part.n >= sum(COUNTS[subset] for subset in subsets)
