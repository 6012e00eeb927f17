"""Tables as Parquet, written as a stream of row groups. Flat memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

WHOLE = range(-(2**63), 2**63)
"""The whole numbers that a column of whole numbers holds."""
ROWS_AT_ONCE = 16_384
CHARACTERS_AT_ONCE = 8_000_000
"""A row group ends with whichever comes first."""


class _Sink:
    """A file that Parquet is written to, and what has come since it was taken last."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def _whole(value: Any) -> int | None:
    """A whole number, also when JSON has it as ``2.0``; ``None`` for one that the column cannot hold."""
    return int(value) if _is_number(value) and value == int(value) and int(value) in WHOLE else None


def _number(value: Any) -> float | None:
    return float(value) if _is_number(value) and abs(value) < 1e308 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


_AS: Mapping[str, Callable[[Any], Any]] = {"text": _text, "whole": _whole, "number": _number, "flag": _flag}


class ParquetLines:
    """A Parquet file in the making, a row group at a time: the same values give the same bytes.

    ``columns`` has the type of each: ``text``, ``whole`` (64 bits), ``number`` (a double) or ``flag``. A value that is
    not of its column's type is null.
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        import pyarrow as pa  # takes time and memory that only who makes such a file should spend
        from pyarrow import parquet

        types = {"text": pa.string(), "whole": pa.int64(), "number": pa.float64(), "flag": pa.bool_()}
        self._schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
        self._as = [_AS[kind] for kind in columns.values()]
        self._arrays, self._batch = pa.array, pa.record_batch
        self._sink = _Sink()
        self._writer = parquet.ParquetWriter(self._sink, self._schema)
        self._waiting: list[Sequence[Any]] = []
        self._characters = 0

    def start(self) -> bytes:
        """The bytes before the first line."""
        return self._sink.take()

    def line(self, content: Sequence[Any], /) -> bytes:
        """The bytes that are ready with this line, which has a value for each column."""
        self._waiting.append(content)
        self._characters += sum(len(value) for value in content if isinstance(value, str))
        if len(self._waiting) >= ROWS_AT_ONCE or self._characters >= CHARACTERS_AT_ONCE:
            self._write_group()
        return self._sink.take()

    def end(self) -> bytes:
        """The bytes after the last line."""
        if self._waiting:
            self._write_group()
        self._writer.close()
        return self._sink.take()

    def _write_group(self) -> None:
        lines = zip(*self._waiting, strict=True)
        arrays = [
            self._array([convert(value) for value in values], column.type)
            for values, convert, column in zip(lines, self._as, self._schema, strict=True)
        ]
        self._writer.write_batch(self._batch(arrays, schema=self._schema))
        self._waiting.clear()
        self._characters = 0

    def _array(self, values: list[Any], kind: Any) -> Any:
        try:
            return self._arrays(values, kind)
        except UnicodeEncodeError:  # half a surrogate pair is no text
            plain = (value and value.encode("utf-8", "replace").decode() for value in values)
            return self._arrays(list(plain), kind)
