"""Workbooks (.xlsx) from their XML, so that they can be wrong in ways that no library writes."""

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from tests.corpus.writers import zipped

_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
    "{more}</Types>"
)
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def xlsx(rows: str, *, styles: str = "", shared: str = "", head: str = "") -> bytes:
    """A workbook whose only sheet has these ``<row>`` elements, and ``head`` (a DOCTYPE) above its root."""
    return sheets({"Sheet1": worksheet(rows)}, styles=styles, shared=shared, head=head)


def sheets(
    parts: Mapping[str, str], *, states: Mapping[str, str] | None = None, styles: str = "", shared: str = "",
    head: str = "", properties: str = "", more: Mapping[str, bytes] | None = None,
) -> bytes:  # fmt: skip
    """A workbook of whole worksheet parts by the name of their sheet; ``states`` such as ``hidden``."""
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}"'
        + (f' state="{states[name]}"' if states and name in states else "") + "/>"
        for at, name in enumerate(parts, start=1)
    )  # fmt: skip
    related = "".join(
        f'<Relationship Id="rId{at}" Type="{_REL}/worksheet" Target="worksheets/sheet{at}.xml"/>'
        for at, _ in enumerate(parts, start=1)
    )
    files = {
        "[Content_Types].xml": _types(bool(styles), bool(shared)),
        "_rels/.rels": _relations(f'<Relationship Id="rId1" Type="{_REL}/officeDocument" Target="xl/workbook.xml"/>'),
        "xl/workbook.xml": (
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_REL}">{properties}<sheets>{listed}</sheets></workbook>'
        ).encode(),
        **{f"xl/worksheets/sheet{at}.xml": (head + xml).encode() for at, xml in enumerate(parts.values(), start=1)},
    }  # fmt: skip
    if styles:
        related += f'<Relationship Id="rIdS" Type="{_REL}/styles" Target="styles.xml"/>'
        files["xl/styles.xml"] = styles.encode()
    if shared:
        related += f'<Relationship Id="rIdT" Type="{_REL}/sharedStrings" Target="sharedStrings.xml"/>'
        files["xl/sharedStrings.xml"] = shared.encode()
    files["xl/_rels/workbook.xml.rels"] = _relations(related)
    return zipped({**files, **(more or {})})


def _types(styles: bool, shared: bool) -> bytes:
    kinds = {"styles": styles, "sharedStrings": shared}
    more = "".join(
        f'<Override PartName="/xl/{name}.xml" ContentType="{_KIND}.{name}+xml"/>'
        for name, is_in in kinds.items()
        if is_in
    )
    return _TYPES.replace("{more}", more).encode()


def _relations(related: str) -> bytes:
    return f'<Relationships xmlns="{_PACKAGE}">{related}</Relationships>'.encode()


def worksheet(rows: str, after: str = "", before: str = "") -> str:
    """A worksheet part with these ``<row>`` elements."""
    return f'<worksheet xmlns="{_MAIN}">{before}<sheetData>{rows}</sheetData>{after}</worksheet>'


def styles_of(*codes: str) -> str:
    """Styles 1, 2, … with these number formats; style 0 is General."""
    own = "".join(f'<numFmt numFmtId="{170 + at}" formatCode={quoteattr(code)}/>' for at, code in enumerate(codes))
    used = "".join(f'<xf numFmtId="{170 + at}" applyNumberFormat="1"/>' for at, _ in enumerate(codes))
    return (
        f'<styleSheet xmlns="{_MAIN}"><numFmts count="{len(codes)}">{own}</numFmts>'
        f'<cellXfs count="{len(codes) + 1}"><xf numFmtId="0"/>{used}</cellXfs></styleSheet>'
    )


def text_row(number: int, *texts: str) -> str:
    """A row of texts that stand in their cells; an empty one is no cell."""
    cells = "".join(
        f'<c r="{letters(at)}{number}" t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'
        for at, text in enumerate(texts, start=1) if text
    )  # fmt: skip
    return f'<row r="{number}">{cells}</row>'


def letters(column: int) -> str:
    """1 → ``A``, 27 → ``AA``."""
    name = ""
    while column:
        column, left = divmod(column - 1, 26)
        name = chr(65 + left) + name
    return name
