"""Columns whose values hardly repeat are written without a dictionary."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from lakeward.sinks.iceberg.dictionaries import FEWEST, dictionary_columns

ROWS = 3000


def rows(count: int) -> pa.Table:
    numbers = range(count)
    return pa.table(
        {
            "id": [f"id-{number}" for number in numbers],
            "kind": [f"k{number % 7}" for number in numbers],
            "inner": [{"path": f"/{number}", "code": number % 3} for number in numbers],
            "tags": pa.array(
                [[("name", f"n{number}")] for number in numbers], pa.map_(pa.string(), pa.string())
            ),
            "list": [[number % 2, number % 5] for number in numbers],
            "rare": [None if number % 50 else f"r{number}" for number in numbers],
        }
    )


def test_only_columns_whose_values_repeat_get_a_dictionary() -> None:
    assert dictionary_columns(rows(ROWS)) == [
        "kind",
        "inner.code",
        "tags.key_value.key",
        "list.list.element",
        "rare",
    ]


def test_too_few_rows_tell_nothing_and_all_columns_get_one() -> None:
    assert dictionary_columns(rows(FEWEST - 1)) is True


def test_the_names_are_those_parquet_gives_its_columns() -> None:
    table = rows(ROWS)
    chosen = dictionary_columns(table)
    assert isinstance(chosen, list)
    file = io.BytesIO()
    pq.write_table(table, file, use_dictionary=chosen)
    group = pq.ParquetFile(file).metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    encoded = {c.path_in_schema for c in columns if "RLE_DICTIONARY" in c.encodings}
    assert encoded == set(chosen)


def test_sliced_rows_are_judged_by_their_own_values() -> None:
    table = pa.table({"n": [*range(2000), *([1] * 2000)]})
    assert dictionary_columns(table.slice(0, 2000)) == []
    assert dictionary_columns(table.slice(2000)) == ["n"]
