"""How a file is read, in words: what was found, and how sure that is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.packages.manifest import Reading
from portal.packages.wording import count

FORMATS: Final[dict[str, str | Promise]] = {
    "csv": "CSV",
    "jsonl": "JSON Lines",
    "openai": gettext_lazy("OpenAI batch requests"),
    "xlsx": "Excel (.xlsx)",
    "xls": "Excel 97–2003 (.xls)",
    "ods": "OpenDocument (.ods)",
    "parquet": "Parquet",
}
ENCODINGS: Final[dict[str, str]] = {
    "utf-8": "UTF-8",
    "gb18030": "GB18030 (GBK)",
    "big5": "Big5",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "windows-1252": "Windows-1252 (Latin-1)",
}
"""Encodings that can be chosen, under the names that people meet elsewhere."""
DELIMITERS: Final[dict[str, str | Promise]] = {
    ",": gettext_lazy("comma"),
    "\t": gettext_lazy("tab"),
    ";": gettext_lazy("semicolon"),
    "|": gettext_lazy("vertical bar"),
    " ": gettext_lazy("space"),
    ":": gettext_lazy("colon"),
    "^": gettext_lazy("caret ^"),
    "~": gettext_lazy("tilde ~"),
    "\x01": gettext_lazy("Ctrl-A (Hive)"),
    "": gettext_lazy("none: one column"),
}
QUOTES: Final = {
    '"': gettext_lazy('double quotes (")'),
    "'": gettext_lazy("apostrophes (')"),
    "": gettext_lazy("none: quotation marks are text"),
}
HEADINGS: Final = {
    True: gettext_lazy("first row"),
    False: gettext_lazy("none: the first row is data"),
}
PARTS: Final[dict[str, tuple[str, ...]]] = {
    "csv": ("encoding", "delimiter", "quote", "has_heading"),
    "jsonl": ("encoding",),
    "openai": ("encoding",),
    "xlsx": ("sheet", "has_heading"),
    "xls": ("sheet", "has_heading"),
    "ods": ("sheet", "has_heading"),
}
"""The parts of a reading that can be chosen, by format."""
LABELS: Final = {
    "encoding": gettext_lazy("Encoding"),
    "delimiter": gettext_lazy("Delimiter"),
    "quote": gettext_lazy("Quoting"),
    "has_heading": gettext_lazy("Heading"),
    "sheet": gettext_lazy("Sheet"),
}
_CERTAINTIES: Final = {
    "chosen": gettext_lazy("as you chose"),
    "declared": gettext_lazy("certain: the file says so"),
    "proven": gettext_lazy("certain"),
    "likely": gettext_lazy("likely"),
    "doubtful": gettext_lazy("doubtful: look at the first rows"),
}
_WHY: Final = {
    ("encoding", "proven"): gettext_lazy("certain: every byte fits"),
    ("encoding", "likely"): gettext_lazy("likely: a few lines have broken bytes"),
    ("gb18030", "likely"): gettext_lazy("likely: it is not UTF-8, and it reads as Chinese"),
    ("gb18030", "doubtful"): gettext_lazy("doubtful: it hardly reads as Chinese"),
    ("utf-16-le", "likely"): gettext_lazy("likely: it has no byte order mark"),
    ("utf-16-be", "likely"): gettext_lazy("likely: it has no byte order mark"),
    ("delimiter", "proven"): gettext_lazy("certain: every row splits alike"),
    ("delimiter", "doubtful"): gettext_lazy("doubtful: rows do not split alike"),
    ("has_heading", "proven"): gettext_lazy("certain: it names the columns"),
    ("has_heading", "doubtful"): gettext_lazy("doubtful: it may be a row of data"),
}


@dataclass(frozen=True)
class Fact:
    """A part of a reading: ``value`` is what it is, ``why`` how sure that is, both in words."""

    name: str
    label: str
    value: str
    why: str
    tone: str


def format_name(reading: Reading) -> str:
    """What kind of file it is, and what it is packed in: ``CSV in GZIP``."""
    name = str(FORMATS.get(reading.format, reading.format))
    if not reading.packing:
        return name
    return _("%(format)s, packed (%(packing)s)") % {"format": name, "packing": reading.packing.upper()}


def facts_of(reading: Reading) -> list[Fact]:
    """What was found or chosen, part by part, as far as the format has such a part."""
    parts = PARTS.get(reading.format, ())
    return [_fact(name, reading) for name in parts if name != "sheet" or reading.sheet]


def encoding_name(encoding: str) -> str:
    """``utf-8-sig`` as ``UTF-8``."""
    return ENCODINGS.get(encoding.removesuffix("-sig"), encoding.upper())


def certainty_of(name: str, reading: Reading) -> str:
    """How sure a part is, as ``Reading`` says it."""
    if name == "encoding":
        return reading.certainty
    return reading.certainties.get({"has_heading": "heading"}.get(name, name), "")


_VALUES: Final[dict[str, Callable[[Reading], str]]] = {
    "encoding": lambda reading: encoding_name(reading.encoding),
    "delimiter": lambda reading: str(DELIMITERS.get(reading.delimiter, reading.delimiter)),
    "quote": lambda reading: str(QUOTES.get(reading.quote) or reading.quote),
    "has_heading": lambda reading: _heading(reading),
    "sheet": lambda reading: reading.sheet,
}


def _heading(reading: Reading) -> str:
    """Which row names the columns, and whether anything stands above it."""
    if reading.first_line < 2:
        return str(HEADINGS[reading.has_heading])
    said = _("row %(n)s; what stands above is left out")
    if not reading.has_heading:
        said = _("none: data begins in row %(n)s; what stands above is left out")
    return said % {"n": count(reading.first_line)}


def _fact(name: str, reading: Reading) -> Fact:
    certainty = certainty_of(name, reading)
    special = reading.encoding if name == "encoding" else name
    why = _WHY.get((special, certainty)) or _WHY.get((name, certainty)) or _CERTAINTIES.get(certainty) or ""
    tone = "warn" if certainty == "doubtful" else ""
    return Fact(name, str(LABELS[name]), _VALUES[name](reading), str(why), tone)
