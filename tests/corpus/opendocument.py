"""OpenDocument spreadsheets from their XML."""

from xml.sax.saxutils import escape

from tests.corpus.writers import zipped

_ODS = "urn:oasis:names:tc:opendocument:xmlns"
_SHEET = "application/vnd.oasis.opendocument.spreadsheet"


def ods(*tables: tuple[str, str], manifest: str = "") -> bytes:
    """A spreadsheet of tables by name, each with its ``<table:table-row>`` elements."""
    spaces = " ".join(f'xmlns:{name}="{_ODS}:{name}:1.0"' for name in ("office", "table", "text"))
    body = "".join(f'<table:table table:name="{escape(name)}">{rows}</table:table>' for name, rows in tables)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.3"><office:body>'
        f"<office:spreadsheet>{body}</office:spreadsheet></office:body></office:document-content>"
    )
    entries = manifest or '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    listing = f'<manifest:manifest xmlns:manifest="{_ODS}:manifest:1.0">{entries}</manifest:manifest>'
    parts = {"mimetype": _SHEET, "content.xml": content, "META-INF/manifest.xml": listing}
    return zipped({name: part.encode() for name, part in parts.items()})


def ods_row(*texts: str, more: str = "") -> str:
    cells = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{escape(text)}</text:p></table:table-cell>'
        if text else "<table:table-cell/>" for text in texts
    )  # fmt: skip
    return f"<table:table-row>{cells}{more}</table:table-row>"
