"""Checked pairs as `datasets` keeps them: Arrow files under HF_HOME, mapped into memory.

A large file of pairs is read and checked once; from then on its table is mapped, which takes no
time and no memory of its own. `datasets` names, locks, writes and finds the files. It does not read
the pairs' own files as well, since its readers of CSV and JSON make something else of what is
written, without a word: 007 is 7, a day a time, a text "[1]" beside a list a list, of a lone
surrogate nothing stays, a row that is too short has an empty response, and where all rows are too
long each text moves to its neighbour's column. Its reader of Parquet unpacks what lies in a file
once and stands in a million rows before a limit can say no. Its streams import torch.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from scoring.limits import MEGABYTE
from scoring.pairs.checking import SCHEMA, CheckedRows

LEAST_BYTES = 32 * MEGABYTE
"""Of the files of a set. A smaller one is read sooner than `datasets` is imported."""
FOLDER = "rewardbench_explorer"


def mapped(name: str, revision: str, read: Callable[[], CheckedRows]) -> CheckedRows:
    """What `read` gives, from the cache of `datasets`, where it is written the first time.

    One revision of each set is kept. Where nothing can be written, it stays in memory.

    Args:
        name: what the set is called.
        revision: changes with its content.
        read: reads and checks its files; what it raises is raised.
    """
    try:
        builder = _builder(name, revision)
    except Exception:  # there is no folder to write in, or what says what is there is broken
        return read()
    try:
        return _from(builder)
    except Exception:  # it was not written yet, or it is broken
        shutil.rmtree(builder.cache_dir, ignore_errors=True)
        builder.checked = checked = read()
    try:
        builder.download_and_prepare()
        del builder.checked
        _remove_others(Path(builder.cache_dir))
        return _from(builder)
    except Exception:  # the disk is full, say: whatever it is, the pairs are here
        return checked


def _builder(name: str, revision: str) -> Any:
    import datasets

    datasets.disable_progress_bars()

    class Builder(datasets.ArrowBasedBuilder):  # type: ignore[misc]
        checked: CheckedRows

        def _info(self) -> Any:
            return datasets.DatasetInfo(features=datasets.Features.from_arrow_schema(SCHEMA))

        def _split_generators(self, _: object) -> list[Any]:
            return [datasets.SplitGenerator("train")]

        def _generate_tables(self) -> Iterator[tuple[Any, pa.Table]]:
            told = [self.checked.notes, self.checked.left_out]
            self.info.description = json.dumps(told)
            for number, batch in enumerate(self.checked.table.to_batches()):
                yield datasets.builder.Key(0, number), pa.Table.from_batches([batch])

    return Builder(
        dataset_name=FOLDER,
        config_name=re.sub(r"[^\w.-]", "_", name)[-100:],
        hash=hashlib.sha256(f"{name} {revision} {_code()}".encode()).hexdigest(),
        writer_batch_size=2**31,  # each chunk stays one
    )


def _from(builder: Any) -> CheckedRows:
    table = builder.as_dataset("train").data.table.replace_schema_metadata(None)
    notes, left_out = json.loads(builder.info.description)
    return CheckedRows(table, tuple(notes), tuple(left_out))


def _code() -> str:
    """Changes with the rules by which files are read."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _remove_others(folder: Path) -> None:
    for other in folder.parent.iterdir():
        if other != folder and other.is_dir():
            shutil.rmtree(other, ignore_errors=True)
