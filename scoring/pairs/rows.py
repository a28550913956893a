"""The raw rows of a file of pairs, in batches, whatever its format.

Not by `datasets`: it makes something else of CSV and JSON without a word (a short row is filled up,
a text "[1]" beside lists is a list), and of Parquet it unpacks a text that stands in a million rows
before a limit can say no.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scoring.errors import KnownError, first_line
from scoring.limits import Limits

SUFFIXES = (".parquet", ".jsonl", ".json", ".csv")
BATCH_ROWS = 8192
"""Rows of a Parquet file in a batch."""
_PYTHON_ROWS = 1024
"""Rows that are Python objects at once."""

Row = Mapping[str, Any]
Batch = pa.RecordBatch | list[Row]
"""Rows of a Parquet file as they lie in it, texts that occur often once; else Python's."""

_LEAST_BYTES, _BYTES_A_ROW = 100_000, 2
"""Most bytes of a column of few values, as Parquet keeps it."""
_SPACE = " \t\n\r"
_EMPTY_LIST = re.compile(rf"\[[{_SPACE}]*\]")
_OPENING = re.compile(rf"\[[{_SPACE}]*")
_COMMA = re.compile(rf"[{_SPACE}]*,[{_SPACE}]*")


class RowFiles(NamedTuple):
    """Files of one set of pairs.

    paths: by the names that they have in messages; shown: what all have together.
    default_subset: where a row names none. benchmark: as of `layouts.layout_of`.
    limits: of all files together.
    """

    paths: Mapping[str, Path]
    shown: str
    default_subset: str
    benchmark: str
    limits: Limits


def announced(
    path: Path, name: str, columns: Sequence[str]
) -> tuple[Sequence[str], int | None, int]:
    """Columns to read, rows, and unpacked bytes of these columns, by the end of a Parquet file.

    Further columns of words or booleans are read, too, if they have few values by their size. A
    text that stands in a million rows may count only once. Of other formats: `columns`, None, 0.
    """
    if path.suffix.lower() != ".parquet":
        return columns, None, 0
    wanted, n_bytes = dict.fromkeys(columns), 0
    with _file_errors(path, name):
        metadata = pq.read_metadata(path)
        groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        most = _LEAST_BYTES + _BYTES_A_ROW * metadata.num_rows
        for leaf, (top, part, kind) in enumerate(_leaves(metadata)):
            chunks = [group.column(leaf) for group in groups]
            size = sum(chunk.total_uncompressed_size for chunk in chunks)
            if top == part and kind in ("BYTE_ARRAY", "BOOLEAN") and size <= most:
                wanted[top] = None
            if top in wanted:
                n_bytes += size + 4 * sum(chunk.num_values for chunk in chunks)
        return list(wanted), metadata.num_rows, n_bytes


def read_batches(path: Path, name: str, columns: Sequence[str]) -> Iterator[Batch]:
    """A file's raw rows, or a `KnownError` that names the file and the row that is to blame.

    name: of the file in messages. columns: that are wanted; others may be left out.
    """
    suffix = path.suffix.lower()
    with _file_errors(path, name):
        if suffix == ".parquet":
            yield from _parquet(path, columns)
        else:
            rows = _csv(path) if suffix == ".csv" else _json(path)
            while batch := list(islice(rows, _PYTHON_ROWS)):
                yield batch


def rows_of(batch: Batch) -> Iterator[list[Row]]:
    """A batch's rows as Python objects, few at a time."""
    for start in range(0, len(batch), _PYTHON_ROWS):
        part: Any = batch[start : start + _PYTHON_ROWS]
        yield part if isinstance(part, list) else part.to_pylist()


def unpacked_bytes(batch: Batch) -> int:
    """Bytes of a batch's texts, each as often as it stands in a row, before they are unpacked.

    0 for rows of Python, which are no larger than the file that they were read from.
    """
    return 0 if isinstance(batch, list) else sum(map(_array_bytes, batch.columns))


def _array_bytes(array: Any) -> int:
    if isinstance(array, pa.DictionaryArray):
        dictionary: Any = array.dictionary
        lengths = pc.take(pc.binary_length(dictionary), array.indices)
        return int(pc.sum(lengths).as_py() or 0) + array.indices.nbytes
    if isinstance(array, pa.ExtensionArray):
        return _array_bytes(array.storage)
    if isinstance(array, pa.StructArray):
        return sum(map(_array_bytes, array.flatten()))
    if pa.types.is_map(array.type):
        return _array_bytes(array.keys) + _array_bytes(array.items)
    if pa.types.is_nested(array.type):
        return _array_bytes(array.flatten())
    return int(array.nbytes)


@contextmanager
def _file_errors(path: Path, name: str) -> Iterator[None]:
    suffix = path.suffix.lower()
    try:
        yield
    except KnownError as error:
        raise KnownError(f"{name}: {error}") from error
    except UnicodeDecodeError:
        broken = 0
        try:
            path.read_bytes().decode()
        except UnicodeDecodeError as error:
            broken = error.start  # in the file; a reader's is in its block
        raise KnownError(
            f"{name} is not a {suffix} file in UTF-8: byte {broken} cannot be read."
        ) from None
    except (pa.ArrowException, csv.Error, OSError) as error:
        raise KnownError(f"{name} cannot be read as {suffix}: {first_line(error)}") from error


def _leaves(metadata: pq.FileMetaData) -> list[tuple[str, str, str]]:
    """(column, path of a part of it that holds values, its type), in the file's order."""
    parts = map(metadata.schema.column, range(metadata.num_columns))
    return [(each.path.partition(".")[0], each.path, each.physical_type) for each in parts]


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    metadata = pq.read_metadata(path)
    names = metadata.schema.to_arrow_schema().names
    present = [name for name in columns if name in names]
    twice = next((name for name in present if names.count(name) > 1), None)
    if twice:
        raise KnownError(f"it has two columns {twice}.")
    if not present:
        yield [dict.fromkeys(names)]
        return
    # As dictionaries, so that a short file of one long text many times is not unpacked unasked.
    leaves = _leaves(metadata)
    texts = [part for top, part, kind in leaves if top in present and kind == "BYTE_ARRAY"]
    first = 1
    with pq.ParquetFile(
        path, metadata=metadata, read_dictionary=texts, pre_buffer=False, buffer_size=2**20
    ) as file:
        # Each of Arrow's threads would keep hold of memory, together more than the texts have.
        for batch in file.iter_batches(BATCH_ROWS, columns=present, use_threads=False):
            try:
                batch.validate(full=True)
            except pa.ArrowInvalid as error:
                rows = f"rows {first} to {first + len(batch) - 1}"
                raise KnownError(f"{rows} hold what is no text: {first_line(error)}.") from error
            first += len(batch)
            yield batch


def _csv(path: Path) -> Iterator[Row]:
    csv.field_size_limit(2**30)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        for number, row in enumerate(reader, start=1):
            if None in row or None in row.values():
                fields = len(reader.fieldnames or ())
                raise KnownError(f"row {number} does not have {fields} fields as the header has.")
            yield row


def _json(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig") as file:
        first = next((line for line in file if not line.isspace()), "").lstrip()
    values = _json_list(path) if first.startswith("[") else _json_lines(path)
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise KnownError(f"row {number} is {type_name(value)}, not an object.")
        yield value


def _json_list(path: Path) -> Iterator[Any]:
    """The list's values one by one, so that never all of them are Python objects."""
    text = path.read_text(encoding="utf-8-sig").rstrip(_SPACE)
    decoder, place = json.JSONDecoder(), text.index("[")
    if _EMPTY_LIST.fullmatch(text, place):
        return
    separator = _OPENING.match(text, place)
    try:
        while separator:
            value, place = decoder.raw_decode(text, separator.end())
            yield value
            separator = _COMMA.match(text, place)
    except (ValueError, RecursionError) as error:
        raise KnownError(f"not a JSON list: {_what_is_wrong(error)}.") from error
    rest = text[place:].lstrip(_SPACE)
    if rest != "]":
        place = len(text) - len(rest) + 1
        raise KnownError(f"not a JSON list: it goes wrong at character {place}.")


def _json_lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            try:
                if line.strip():
                    yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise KnownError(f"line {number} is not JSON: {_what_is_wrong(error)}.") from error


def _what_is_wrong(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"it goes wrong at character {error.pos + 1}"
    return first_line(error)


def type_name(value: object) -> str:
    """A value's type in a reader's words, such as "a list" or "null"."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


_TYPE_NAMES = {bool: "true or false", int: "a number", float: "a number", str: "text"}
_TYPE_NAMES |= {list: "a list", dict: "an object", type(None): "null"}
