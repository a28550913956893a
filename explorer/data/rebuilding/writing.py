"""A folder as the Hub has a dataset: Parquet splits, a card, and Croissant for machines."""

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.files import whole, write_lines
from explorer.data.datacard import data_card
from explorer.data.rebuilding.building import TEXTS, Built
from explorer.data.rebuilding.provenance import SIDES
from explorer.data.rebuilding.recipes import recipes, sources, untraced
from scoring.errors import KnownError, first_line

_COLUMNS: dict[str, pa.DataType] = {
    **dict.fromkeys(
        ("prompt", "chosen", "chosen_model", "rejected", "rejected_model", "subset"), pa.string()
    ),
    "id": pa.int64(),
}
SCHEMA = pa.schema(_COLUMNS)
"""As published."""
_PLACES: dict[str, pa.DataType] = {
    f"{side}_{name}": kind
    for side in SIDES
    for name, kind in (("file", pa.string()), ("row", pa.int32()), ("column", pa.string()))
}
PROVENANCE = pa.schema(
    dict[str, pa.DataType](subset=pa.string(), id=pa.int64(), kept=pa.bool_(), match=pa.string())
    | _PLACES
)
"""See `explorer.data.rebuilding.building` for `match`."""


def write_dataset(folder: Path, built: Sequence[Built]) -> None:
    """Write what was made, each file whole or not at all.

    - data/filtered.parquet and data/raw.parquet: pairs with both sides, in the published columns,
      types and order of ids;
    - data/one_side.parquet: kept pairs with one side, the other null;
    - provenance.parquet: of every pair, where its sides are from and how sure it is;
    - README.md, the dataset's card, and croissant.json.

    Raises:
        KnownError: a file cannot be written.
    """
    splits = {
        "filtered": [pair for pair in built if pair.is_whole and pair.is_kept],
        "raw": [pair for pair in built if pair.is_whole],
        "one_side": [pair for pair in built if pair.match == "one_side" and pair.is_kept],
    }
    try:
        (folder / "data").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KnownError(
            f"{folder} cannot be made a folder: {first_line(error)}. Choose another for --out."
        ) from error
    for name, pairs in splits.items():
        _write(folder / "data" / f"{name}.parquet", _pairs_table(pairs))
    _write(folder / "provenance.parquet", _places_table(built))
    files = {name: folder / "data" / f"{name}.parquet" for name in splits}
    write_lines(folder / "README.md", _card(splits, built, files))
    described = json.dumps(_croissant(splits, files), indent=1, ensure_ascii=False)
    write_lines(folder / "croissant.json", [described])


def write_index(path: Path, built: Sequence[Built], known: "pa.Table") -> None:
    """Write what the app bundles: `known_pairs` of the filtered split and where they are from."""
    places = {(pair.subset, pair.id): _places(pair) for pair in built}
    rows = [{**row, **places[row["subset"], row["id"]]} for row in known.to_pylist()]
    words = pa.dictionary(pa.int16(), pa.string())
    schema = pa.schema(
        {
            "subset": words,
            "id": pa.int32(),
            "chosen_model": words,
            "rejected_model": words,
            **dict.fromkeys(TEXTS, pa.int64()),
            **{f"{name}_bytes": pa.uint32() for name in TEXTS},
            **{name: words if kind == pa.string() else kind for name, kind in _PLACES.items()},
        }
    )
    words_only = [each.name for each in schema if each.type == words]
    _write(path, pa.Table.from_pylist(rows, schema), words_only)


def _write(path: Path, table: pa.Table, repeated: Any = True) -> None:
    """repeated: columns whose values are written once and pointed at; hashes grow by that."""
    with whole(path) as part:
        pq.write_table(table, part, compression="zstd", use_dictionary=repeated)


def _pairs_table(pairs: Sequence[Built]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "prompt": pair.prompt,
                **{side: each.text for side, each in pair.sides.items()},
                "chosen_model": pair.models[0],
                "rejected_model": pair.models[1],
                "subset": pair.subset,
                "id": pair.id,
            }
            for pair in pairs
        ],
        SCHEMA,
    )


def _places(pair: Built) -> dict[str, str | int]:
    return {
        f"{side}_{name}": value
        for side, each in pair.sides.items()
        for name, value in (("file", each.file), ("row", each.row), ("column", each.column))
    }


def _places_table(built: Sequence[Built]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"subset": pair.subset, "id": pair.id, "kept": pair.is_kept, "match": pair.match}
            | _places(pair)
            for pair in built
        ],
        PROVENANCE,
    )


def _sha256(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _card(
    splits: dict[str, list[Built]], built: Sequence[Built], files: dict[str, Path]
) -> list[str]:
    """The card's lines; its head tells `datasets` which file is which split."""
    card = data_card()
    matches = {name: Counter((pair.subset, pair.match) for pair in built if pair.is_kept is kept)
               for name, kept in (("kept", True), ("raw", False))}  # fmt: skip
    lines = [
        "---",
        "license: other",
        "license_name: mixed",
        "language: [en]",
        "configs:",
        "- config_name: default",
        "  data_files:",
        *(f"  - {{split: {name}, path: data/{name}.parquet}}" for name in ("raw", "filtered")),
        "- config_name: one_side",
        "  data_files: data/one_side.parquet",
        "---",
        "",
        "# RewardBench, rebuilt from its sources",
        "",
        f"Made by `python -m explorer.rebuild` of RewardBench Explorer, after {card.citation} "
        f"The published dataset is [{card.dataset}]({card.dataset_url}) ({card.licence}).",
        "",
        "| file | pairs | sha256 |",
        "|---|---:|---|",
        *(
            f"| data/{name}.parquet | {len(pairs):,} | `{_sha256(files[name])}` |"
            for name, pairs in splits.items()
        ),
        "",
        "`provenance.parquet` says of every pair which file and row its sides are from, and how "
        "sure it is: `exact` (the published text, by its hash), `space` (but for white space), "
        "`rule` (a pair of the raw split that was not kept: no hash of it is known), `one_side`, "
        "`missing`.",
        "",
        "| subset | kept pairs | exact | but for space | one side | missing | further raw pairs |"
        " licence | source |",
        "|---|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    for each in card.subsets:
        source = sources()[recipes()[each.subset].source]
        kept = [matches["kept"][each.subset, name]
                for name in ("exact", "space", "one_side", "missing")]  # fmt: skip
        cells = (each.pairs, *kept, matches["raw"][each.subset, "rule"])
        at = f" {source.repo} at {source.revision[:7]}" if source.repo else " not published"
        lines.append(
            f"| {each.subset} | {' | '.join(f'{n:,}' for n in cells)} | {source.licence} "
            f"| {source.name},{at} |"
        )
    lines += ["", "## What cannot be rebuilt", ""]
    lines += [f"- {', '.join(subsets)}: {lacking}" for subsets, lacking in untraced()]
    return lines


_CROISSANT = (
    "citeAs column extract field fileObject fileProperty fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace separator "
    "source subField transform"
)
_CONTEXT: dict[str, object] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _CROISSANT.split()},
}
"""Of Croissant 1.0, as its specification has it."""


def _croissant(splits: dict[str, list[Built]], files: dict[str, Path]) -> dict[str, object]:
    """The dataset in Croissant 1.0, https://docs.mlcommons.org/croissant/docs/croissant-spec.html."""
    card = data_card()
    return {
        "@context": dict(sorted(_CONTEXT.items())),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "reward-bench-rebuilt",
        "description": "RewardBench's preference pairs, rebuilt from their sources.",
        "license": sorted({each.origin.licence for each in card.subsets}),
        "url": card.dataset_url,
        "citeAs": card.citation,
        "version": "1.0.0",
        "distribution": [_file_object(name, path) for name, path in files.items()],
        "recordSet": [_record_set(name, len(pairs)) for name, pairs in splits.items()],
    }


def _file_object(name: str, path: Path) -> dict[str, object]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{name}.parquet",
        "name": f"{name}.parquet",
        "contentUrl": f"data/{name}.parquet",
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": _sha256(path),
    }


def _record_set(name: str, n_pairs: int) -> dict[str, object]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "dataType": "sc:Integer" if column == "id" else "sc:Text",
            "source": {"fileObject": {"@id": f"{name}.parquet"}, "extract": {"column": column}},
        }
        for column in SCHEMA.names
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{n_pairs:,} pairs",
        "field": fields,
    }
