"""How a CSV file is written, told from its beginning: delimiter, quotation marks, heading. Pure.

Whoever decides says how sure that is, in the words of ``Reading``.
"""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from portal.packages.manifest.csv_rows import noted_delimiter, parsed
from portal.packages.manifest.heading import heading_found
from portal.packages.manifest.lines import lines_of
from portal.packages.manifest.reading import Reading, UnableToRead, Wish
from portal.packages.manifest.swallowed import has_swallowed_rows

DELIMITERS = (",", "\t", ";", "|")
_QUOTES = ('"', "'", "")
_SAMPLE_ROWS = 200
_WELL = 0.9
"""The share of rows that a delimiter must split alike to be likely."""
_FAULTS = 3
"""Rows with wrong quotation marks from which on they may be meant as text."""

Records = list[list[str]]


def dialect_of(sample: str, wish: Wish, plain: Reading, *, is_whole: bool) -> Reading:
    """``plain`` with the delimiter, quotation mark and heading of ``sample``, as far as ``wish`` leaves them open.

    ``is_whole`` says that the file has nothing beyond the sample. Raises :class:`UnableToRead` for what no file
    can be written with.
    """
    _refuse_unusable(wish)
    lines = lines_of(sample)
    if not is_whole and len(lines) > 1:
        del lines[-1]  # it may have been cut
    noted = noted_delimiter(lines[0]) if len(lines) > 1 else ""
    rows = lines[1:] if noted else lines
    found = noted or _best_delimiter(rows, wish, plain)
    delimiter = found if wish.delimiter is None else wish.delimiter
    if wish.quote and wish.quote == delimiter:
        raise UnableToRead("unusable_quote")
    reading, sure_of_quote = _with_quote(rows, wish, replace(plain, delimiter=delimiter))
    has_heading, sure_of_heading = heading_found(_records(rows, reading)[0])
    if wish.has_heading is not None:
        has_heading, sure_of_heading = wish.has_heading, "chosen"
    sure = {
        "delimiter": _sure_of_delimiter(rows, reading, wish, is_noted=bool(noted)),
        "quote": sure_of_quote,
        "heading": sure_of_heading,
    }
    return replace(reading, has_heading=has_heading, certainties=sure)


def _refuse_unusable(wish: Wish) -> None:
    delimiter, quote = wish.delimiter, wish.quote
    if delimiter and (len(delimiter) > 1 or delimiter in "\"'\r\n\0"):
        raise UnableToRead("unusable_delimiter")
    if quote is not None and (len(quote) > 1 or quote in "\r\n\0 " or quote == delimiter) and quote != "":
        raise UnableToRead("unusable_quote")


def _records(lines: Sequence[str], reading: Reading) -> tuple[Records, int]:
    """The first records that are not blank, and how many lines could not be read.

    A line that the reader stumbles over is passed by, as it is when the file is read.
    """
    found: Records = []
    faults = start = 0
    while len(found) < _SAMPLE_ROWS and start < len(lines):
        reader = parsed(iter(lines[start:]), reading)
        before = 0
        try:
            for fields in islice(reader, _SAMPLE_ROWS - len(found)):
                record = lines[start + before : start + reader.line_num]
                if found and has_swallowed_rows(record, reading, len(found[0])):
                    raise csv.Error
                before = reader.line_num
                if len(fields) > 1 or (fields and fields[0].strip()):
                    found.append(fields)
            return found, faults
        except csv.Error:
            faults += 1
            start += before + 1
        if faults > _SAMPLE_ROWS:
            break
    return found, faults


def _evenness(lines: Sequence[str], reading: Reading) -> tuple[float, int]:
    """The share of records that have as many fields as the first one, and how many these are."""
    if reading.quote == reading.delimiter:  # as a person may wish it: it is told to be the delimiter, then refused
        reading = replace(reading, quote="")
    found, faults = _records(lines, reading)
    if not found:
        return 0.0, 0
    width = len(found[0])
    return sum(len(fields) == width for fields in found) / (len(found) + faults), width


def _best_delimiter(lines: list[str], wish: Wish, plain: Reading) -> str:
    """The delimiter that splits the most rows into as many fields as the first; of several the one that makes more."""
    quotes = ('"', "") if wish.quote is None else (wish.quote,)

    def fitness(delimiter: str) -> tuple[float, int]:
        fits = [_evenness(lines, replace(plain, delimiter=delimiter, quote=quote)) for quote in quotes]
        return max((fit for fit in fits if fit[1] > 1), default=(0.0, 0))

    best = max(DELIMITERS, key=fitness)
    return best if fitness(best)[1] else _of_one_column(lines, plain)


def _of_one_column(lines: list[str], plain: Reading) -> str:
    """The delimiter that texts under a heading of one column have in them least.

    Rows that are all of another width are a table below a title: they are not made into texts.
    """
    comma = replace(plain, delimiter=DELIMITERS[0])
    widths = Counter(len(fields) for fields in _records(lines, comma)[0][1:])
    if any(width > 1 and count >= _WELL * widths.total() for width, count in widths.items()):
        return comma.delimiter
    return max(DELIMITERS, key=lambda delimiter: _evenness(lines, replace(plain, delimiter=delimiter))[0])


def _sure_of_delimiter(lines: list[str], reading: Reading, wish: Wish, *, is_noted: bool) -> str:
    if wish.delimiter is not None or is_noted:
        return "declared" if wish.delimiter is None else "chosen"
    fits = {delimiter: _evenness(lines, replace(reading, delimiter=delimiter)) for delimiter in DELIMITERS}
    share, width = fits.pop(reading.delimiter)
    if width < 2:
        return "likely"  # one column
    rival = max((fit[0] for fit in fits.values() if fit[1] > 1), default=0.0)
    if share < _WELL or rival >= share:
        return "doubtful"
    return "proven" if share == 1 and rival < _WELL else "likely"


def _with_quote(lines: list[str], wish: Wish, reading: Reading) -> tuple[Reading, str]:
    if wish.quote is not None:
        return replace(reading, quote=wish.quote), "chosen"
    double, single, none = (replace(reading, quote=quote) for quote in _QUOTES)
    if _are_wrapped(_records(lines, double)[0]) and _evenness(lines, single) >= _evenness(lines, double):
        return single, "likely"
    if not any('"' in line for line in lines):
        return double, "likely"
    even = _evenness(lines, double)
    if even[0] == 1:
        return double, "proven"
    if _records(lines, double)[1] >= _FAULTS and _is_plain(lines, none):
        return none, "likely"
    return double, "likely" if even[0] >= _WELL else "doubtful"


def _is_plain(lines: list[str], none: Reading) -> bool:
    """Are rows even when quotation marks are text, and is no text wrapped in them?"""
    records, _ = _records(lines, none)
    wrapped = any(len(text) > 1 and text[0] == text[-1] == '"' for fields in records for text in fields)
    return not wrapped and (len(records[0]) > 1 or not none.delimiter) and _evenness(lines, none)[0] >= _WELL


def _are_wrapped(records: Records) -> bool:
    """Do apostrophes surround most texts?"""
    texts = [field for fields in records for field in fields if field and not _is_number(field)]
    wrapped = sum(len(text) > 1 and text[0] == text[-1] == "'" for text in texts)
    return wrapped >= 2 and wrapped * 2 > len(texts)


def _is_number(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdigit()
