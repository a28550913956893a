"""What a stranger's tokenizer may make of a text, and what not."""

import base64
import json
import resource
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from explorer.data.tokenizer import LocatedTokenizer, encoder
from explorer.data.tokenizer_growth import MOST_ADDED, check_growth, read_tokenizer
from scoring.errors import KnownError
from tests.conftest import DEMO_MODEL

WORDS = {"[UNK]": 0, "a": 1}


def made(
    normalizer: Any = None, pre_tokenizer: Any = None, post_processor: Any = None, model: Any = None
) -> Tokenizer:
    tokenizer = Tokenizer(model or models.WordLevel(WORDS, "[UNK]"))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    return tokenizer


def in_file(folder: Path, tokenizer: Tokenizer, **changed: object) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(tokenizer.to_str()), **changed}), encoding="utf-8")
    return path


def charsmap(longest: int) -> Any:
    """Spellings as SentencePiece writes them, behind a tree that finds none."""
    table = bytes(4) + b"ab\0" + b"x" * longest + b"\0"
    state = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}
    return state


def replacing(pattern: Any, content: str) -> Any:
    return normalizers.Replace(pattern, content)


LLAMA = normalizers.Sequence([normalizers.Prepend("▁"), replacing(" ", "▁")])
ALBERT = normalizers.Sequence(
    [
        *(replacing("``", '"'), replacing("''", '"')),
        *(normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()),
    ]
)
CLIP = normalizers.Sequence(
    [normalizers.NFC(), replacing(Regex(r"\s+"), " "), normalizers.Lowercase()]
)
T5 = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
GPT = pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.ByteLevel()])


@pytest.mark.parametrize(
    "tokenizer",
    [
        made(),
        made(LLAMA),
        made(CLIP, pre_tokenizers.ByteLevel()),
        made(ALBERT, T5),
        made(normalizers.NFC(), GPT),
        made(normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()),
        made(replacing(Regex(" {2,}"), " "), T5),
        made(normalizers.Nmt(), pre_tokenizers.UnicodeScripts()),
    ],
)
def test_what_known_tokenizers_do_is_allowed(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = in_file(tmp_path, tokenizer)
    check_growth(read_tokenizer(path))
    expected = len(tokenizer.encode("a á  AA '' 12\n", add_special_tokens=False))
    assert encoder(LocatedTokenizer("x", tmp_path))(["a á  AA '' 12\n"]) == [expected]


def test_a_sentencepiece_tokenizer_is_allowed(tmp_path: Path) -> None:
    path = in_file(tmp_path, made(None, T5), normalizer=charsmap(33))
    assert check_growth(read_tokenizer(path)).spelled == 33


def test_the_bundled_one_counts_as_it_does_everywhere() -> None:
    texts = ["a dog", "", "<|endoftext|> é\r\n"]
    found = encoder(LocatedTokenizer("demo", DEMO_MODEL))(texts)
    plain = Tokenizer.from_file(str(DEMO_MODEL / "tokenizer.json"))
    assert found == [len(plain.encode(each, add_special_tokens=False)) for each in texts]


def nested(part: Any, times: int) -> Any:
    for _ in range(times):
        part = normalizers.Sequence([normalizers.Strip(), part])
    return part


LONG = "b" * 100_000
GROWING = [
    made(replacing("a", LONG)),
    made(replacing("", LONG)),
    made(replacing(Regex("a"), LONG)),
    made(normalizers.Prepend(LONG)),
    made(nested(replacing("a", LONG), 9)),
    made(normalizers.Sequence([replacing("a", "aa")] * 40)),
    made(normalizers.Sequence([normalizers.NFKC()] * 40)),
    made(normalizers.Sequence([normalizers.Strip()] * 65)),
    made(normalizers.Sequence([normalizers.ByteLevel()] * 30)),
    made(None, pre_tokenizers.Sequence([pre_tokenizers.ByteLevel()] * 30)),
    made(None, pre_tokenizers.Sequence([T5] * 3)),
    made(model=models.WordLevel({LONG: 0}, LONG)),
    made(model=models.WordPiece({"u": 0}, unk_token="u", continuing_subword_prefix=LONG)),
    made(model=models.WordPiece({"u": 0}, unk_token="u", max_input_chars_per_word=10**9)),
]


@pytest.mark.parametrize("tokenizer", GROWING)
def test_a_tokenizer_that_makes_texts_long_is_refused_unseen(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    in_file(tmp_path, tokenizer)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(KnownError, match=r"This tokenizer cannot be used here: .*another one"):
        encoder(LocatedTokenizer("x", tmp_path))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_long_spelling_is_refused(tmp_path: Path) -> None:
    path = in_file(tmp_path, made(), normalizer=charsmap(1_001))
    with pytest.raises(KnownError, match="may make a text 1,001 times as long"):
        read_tokenizer(path)


@pytest.mark.parametrize(
    "written",
    [
        '{"pattern": {"String": "a"}, "content": "CONTENT"}',
        '{"normalizers": [{"prepend": "CONTENT"}]}',
        'null, "normalizer": {"type": "Prepend", "prepend": "CONTENT"}',
    ],
    ids=["no type", "no types", "twice"],
)
def test_it_is_refused_however_its_file_says_it(written: str, tmp_path: Path) -> None:
    path = in_file(tmp_path, made(), normalizer="HERE")
    path.write_text(path.read_text().replace('"HERE"', written.replace("CONTENT", LONG)))
    with pytest.raises(KnownError, match="cannot be used here"):
        read_tokenizer(path)


def test_what_stands_twice_is_read_as_it_was_looked_at(tmp_path: Path) -> None:
    path = in_file(tmp_path, made(), normalizer="HERE")
    twice = f'{{"type": "Prepend", "prepend": "{LONG}"}}, "normalizer": null'
    path.write_text(path.read_text().replace('"HERE"', twice))
    assert read_tokenizer(path).normalizer is None


def added(content: str) -> dict[str, object]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    return {"id": 2, "content": content, "normalized": True, **flags}


@pytest.mark.parametrize("content", ["c" * (MOST_ADDED + 1), "ﷺ" * 100_000])
def test_added_tokens_that_would_grow_on_loading_are_refused(content: str, tmp_path: Path) -> None:
    path = in_file(tmp_path, made(normalizers.NFKC()), added_tokens=[added(content)])
    with pytest.raises(KnownError, match="cannot be used here"):
        read_tokenizer(path)


def test_other_spellings_are_measured_on_the_texts(tmp_path: Path) -> None:
    in_file(tmp_path, made(normalizers.NFKC(), pre_tokenizers.Whitespace()))
    encode = encoder(LocatedTokenizer("x", tmp_path))
    assert encode(["ﬃ ﷺ", "", "ﬁ" * 5_000]) == [5, 0, 1]
    with pytest.raises(KnownError, match="makes a text more than 4 times as long"):
        encode(["a", "a" * 5_000 + "ﷺ" * 5_000])


def test_what_would_be_put_around_a_text_is_not_counted(tmp_path: Path) -> None:
    many = processors.TemplateProcessing(
        single=" ".join(["$A"] * 50), pair="$A $B", special_tokens=[]
    )
    in_file(tmp_path, made(None, pre_tokenizers.Whitespace(), many))
    assert encoder(LocatedTokenizer("x", tmp_path))(["a b c"]) == [3]


@pytest.mark.parametrize("text", ["a" * 200_000, "ab" * 100_000, " " * 200_000])
def test_the_most_that_is_allowed_takes_little_memory(text: str, tmp_path: Path) -> None:
    in_file(tmp_path, made(replacing("a", "b" * 16), model=models.BPE({"b": 0, "c": 1}, [])))
    encode = encoder(LocatedTokenizer("x", tmp_path))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    encode([text] * 5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2_000_000  # kB
