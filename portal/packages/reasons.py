"""What stable codes mean, as sentences in the reader's language that say what to do.

Two kinds of code: why one row was set aside or failed, and why a whole file cannot be read. Codes and facts are
stored; the sentence is made when somebody reads it.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from portal.packages import wording

LABELS: dict[str, Promise] = {
    "malformed_row": gettext_lazy("not readable"),
    "ragged_row": gettext_lazy("wrong number of fields"),
    "empty_row": gettext_lazy("empty"),
    "undecodable": gettext_lazy("broken characters"),
    "repeated_heading": gettext_lazy("the heading again"),
    "unsupported_request": gettext_lazy("asks for something not offered"),
    "differs_from_task": gettext_lazy("asks for something else than the task"),
    "template_fault": gettext_lazy("no form for this model"),
    "missing_field": gettext_lazy("a needed field is empty"),
    "missing_id": gettext_lazy("no id"),
    "duplicate_id": gettext_lazy("repeated id"),
    "too_long": gettext_lazy("too long for the model"),
    "output_invalid": gettext_lazy("no valid answer"),
    "bad_constraint": gettext_lazy("labels or schema not usable"),
    "invalid_request": gettext_lazy("refused by the model"),
    "engine_unavailable": gettext_lazy("model unavailable"),
    "platform_fault": gettext_lazy("fault on our side"),
    "no_row_number": gettext_lazy("names no row"),
    "not_in_quarantine": gettext_lazy("not in quarantine"),
    "row_repeated": gettext_lazy("row corrected twice"),
    "cut_cell": gettext_lazy("cut by Excel, then changed"),
    "reason_lost": gettext_lazy("reason unknown"),
    "cancelled": gettext_lazy("cancelled"),
}
"""A few words for each code, for counts and headings."""

ROWS: dict[str, Promise] = {
    "malformed_row": gettext_lazy(
        "Line %(line)s of the file could not be read. Check its quotes and brackets, then submit the row again."
    ),
    "field_too_long": gettext_lazy(
        "Line %(line)s of the file has a field of more than %(limit)s characters. Shorten it."
    ),
    "line_too_long": gettext_lazy(
        "Line %(line)s of the file is longer than %(limit)s characters. Check that the file has one row per line."
    ),
    "stray_quote": gettext_lazy(
        "Line %(line)s of the file has a quotation mark that is not closed rightly. Close it, or write it twice if it "
        "belongs to the text."
    ),
    "cell_not_shown": gettext_lazy(
        "Line %(line)s of the file, column %(position)s: the cell has no value that can be shown. Correct the cell."
    ),
    "formula_error": gettext_lazy(
        "Cell %(cell)s shows the error %(shown)s. Correct its formula, or type the value in its place."
    ),
    "binary_value": gettext_lazy(
        "Row %(line)s: “%(column)s” holds bytes that are no text. Write it as text, or leave it out."
    ),
    "value_not_shown": gettext_lazy(
        "Row %(line)s: “%(column)s” holds a value that cannot be shown, such as a date after the year 9999. Correct it."
    ),
    "nested_too_deep": gettext_lazy(
        "Line %(line)s of the file has lists or objects within one another, more than 100 levels deep. Make it flatter."
    ),
    "ragged_row": gettext_lazy(
        "Fields in the row: %(fields)s; in the heading: %(expected)s. Put text that contains the separator in quotes."
    ),
    "empty_row": gettext_lazy("The row is empty. Fill it in or delete it."),
    "undecodable": gettext_lazy(
        "Line %(line)s of the file, column “%(column)s”: some bytes are no characters; they are shown as �. "
        "Type the text again."
    ),
    "undecodable_line": gettext_lazy(
        "Line %(line)s of the file has bytes that are no characters; they are shown as �. Type the text again."
    ),
    "nul_character": gettext_lazy(
        "Line %(line)s of the file, column “%(column)s” contains a NUL character, which no text has. "
        "Type the text again."
    ),
    "half_character": gettext_lazy(
        "Line %(line)s of the file, column “%(column)s” contains half a character, such as a piece of an emoji. "
        "Type the text again."
    ),
    "nul_line": gettext_lazy(
        "Line %(line)s of the file contains a NUL character, which no text has. Type the row again."
    ),
    "repeated_heading": gettext_lazy("Line %(line)s of the file is the heading once more. Delete it."),
    "unsupported_request": gettext_lazy(
        "Line %(line)s of the file: “%(parameter)s” is missing or asks for something that is not offered here. "
        "Correct it or leave it out."
    ),
    "differs_from_task": gettext_lazy(
        "The row asks for “%(parameter)s” %(value)s, the task for %(task)s. Make them the same, or submit such rows "
        "as a package of their own."
    ),
    "template_fault": gettext_lazy(
        "The model’s chat template has no form for these messages: %(problem)s. Check their roles and their order."
    ),
    "missing_field": gettext_lazy("“%(column)s” is empty, and the prompt needs it. Fill it in."),
    "missing_id": gettext_lazy(
        "“%(column)s” is empty, and it is the id of the row. Fill it in; or name no column as the id: then rows are "
        "numbered."
    ),
    "duplicate_id": gettext_lazy("The id “%(id)s” is already used by row %(first_row)s. Give each row its own id."),
    "too_long": gettext_lazy(
        "The prompt has %(tokens)s tokens; with this task the model takes at most %(limit)s. "
        "Shorten the text or split it."
    ),
    "far_too_long": gettext_lazy(
        "The prompt has at least %(tokens)s tokens; with this task the model takes at most %(limit)s. "
        "Shorten the text or split it."
    ),
    "output_invalid": gettext_lazy(
        "The model gave no valid answer, also when asked again. Make the prompt clearer, or loosen the "
        "labels or schema."
    ),
    "bad_constraint": gettext_lazy("The model cannot be held to these labels or this schema. Simplify them."),
    "invalid_request": gettext_lazy("The model refused this row’s request. Check its text."),
    "engine_unavailable": gettext_lazy(
        "The model did not answer after several tries. Nothing is charged; submit the row again."
    ),
    "platform_fault": gettext_lazy(
        "A fault on our side stopped this row. Nothing is charged; an operator can run it again."
    ),
    "reason_lost": gettext_lazy(
        "Why this row was set aside was lost by a fault on our side. Check the row and hand it over again."
    ),
    "cancelled": gettext_lazy("The package was cancelled before this row had run. Nothing is charged."),
    "no_row_number": gettext_lazy(
        "“%(column)s” has no row number, so nobody knows which row is meant. Copy the number from the download."
    ),
    "not_in_quarantine": gettext_lazy(
        "Row %(row)s is not in quarantine, so it was left as it is. Check the row number."
    ),
    "row_repeated": gettext_lazy("Row %(row)s was corrected by a line above. Keep one of the two."),
    "cut_cell": gettext_lazy(
        "Row %(row)s: “%(column)s” is longer than Excel can hold, so it was cut in the download, and then it was "
        "changed. Correct this row in the CSV download, which has it whole."
    ),
}

FILES: dict[str, Promise] = {
    "empty_file": gettext_lazy("The file is empty. Choose a file with a heading and at least one row."),
    "too_large": gettext_lazy(
        "The file is larger than %(limit)s, the most that is taken. Split it into several packages."
    ),
    "binary_file": gettext_lazy("The file is not text. Save it as CSV, JSON Lines or Excel (.xlsx)."),
    "wrong_format": gettext_lazy("The file is %(found)s, which is not read here. Save it as CSV, JSON Lines or Excel."),
    "locked_file": gettext_lazy("The file is protected by a password. Save it without one and upload that."),
    "broken_archive": gettext_lazy(
        "The file is damaged or incomplete and cannot be unpacked. Pack or save it once more and upload that."
    ),
    "archive_too_large": gettext_lazy(
        "The file becomes suspiciously large when it is unpacked. Unpack it yourself and upload what is in it."
    ),
    "expands_too_far": gettext_lazy(
        "The file is larger than %(limit)s once unpacked, the most that is taken. Split it into several packages."
    ),
    "unusual_packing": gettext_lazy(
        "The file is packed in a way that is not read here. Pack it once more in the usual way, as .zip or .gz."
    ),
    "several_files": gettext_lazy(
        "The archive has %(count)s files: %(names)s. Pack the one with the rows alone, or upload it unpacked."
    ),
    "empty_archive": gettext_lazy("The archive has no file in it. Upload the file with the rows."),
    "nested_archive": gettext_lazy(
        "The archive has another archive in it. Unpack the inner one and upload the file with the rows."
    ),
    "json_array": gettext_lazy("The file is one JSON array. Write one object per line (JSON Lines)."),
    "utf16": gettext_lazy(
        "The file looks like UTF-16 without a byte order mark. Save it as UTF-8 (in Excel: “CSV UTF-8”), or choose "
        "UTF-16 as its encoding."
    ),
    "broken_utf8": gettext_lazy(
        "The file is UTF-8, but too many lines contain broken bytes; line %(line)s is the first. Save it again as "
        "UTF-8 and upload that."
    ),
    "broken_utf16": gettext_lazy(
        "The file is UTF-16, but too many lines contain broken bytes; line %(line)s is the first. Save it as UTF-8 "
        "and upload that."
    ),
    "unknown_encoding": gettext_lazy(
        "The file is not UTF-8, and line %(line)s makes no sense as Chinese text (GB18030). "
        "Save the file as UTF-8, or choose its encoding."
    ),
    "wrong_encoding": gettext_lazy(
        "Line %(line)s cannot be read as %(encoding)s. Choose another encoding, or leave it as found."
    ),
    "unusable_encoding": gettext_lazy("“%(encoding)s” is not an encoding that can be chosen here."),
    "unusable_delimiter": gettext_lazy("The delimiter must be one character, and not a quotation mark."),
    "unusable_quote": gettext_lazy("The quotation mark must be one character, or none, and not the delimiter."),
    "no_heading": gettext_lazy("The file has no heading. Put the column names in the first row."),
    "no_rows": gettext_lazy("The file has a heading but no rows. Add at least one row."),
    "no_rows_called": gettext_lazy(
        "The sheet “%(sheet)s” has a heading but no rows. Add at least one row, or put the rows on another sheet."
    ),
    "no_heading_called": gettext_lazy(
        "The sheet “%(sheet)s” has no heading. Put the column names in its first row, or choose another sheet."
    ),
    "no_sheet_called": gettext_lazy(
        "The sheet “%(sheet)s” has no cell with a text or number in it. Put the rows on it, or choose another sheet."
    ),
    "padded_key": gettext_lazy("The key “%(column)s” begins or ends with a space. Remove the space from every row."),
    "unusable_column": gettext_lazy(
        "The name “%(column)s” contains a brace or a line break, so no prompt can name it. Rename the column."
    ),
    "long_column": gettext_lazy("The name of column %(position)s is longer than %(limit)s characters. Shorten it."),
    "too_many_columns": gettext_lazy("The file has more than %(limit)s columns. Keep only those that you need."),
    "no_object": gettext_lazy(
        'None of the first lines is a JSON object. Write one object per line, such as {"id": 1, "text": "…"}.'
    ),
    "unclosed_quote": gettext_lazy(
        "A quotation mark opened in line %(line)s is never closed. Close it and upload the file again."
    ),
    "line_too_long": gettext_lazy(
        "Line %(line)s is longer than %(limit)s characters. Check that the file has one row per line."
    ),
    "broken_workbook": gettext_lazy(
        "The Excel file is damaged and cannot be opened. Save it again in Excel and upload it."
    ),
    "workbook_too_large": gettext_lazy("The Excel file is too large once unpacked. Save it as CSV and upload that."),
    "unordered_sheet": gettext_lazy(
        "The rows or cells of the Excel file are out of order at row %(line)s. Save it again in Excel and upload it."
    ),
    "beyond_excel": gettext_lazy(
        "The Excel file has cells beyond row 1,048,576 or column XFD, the last that Excel has. Save it as CSV "
        "and upload that."
    ),
    "no_sheet": gettext_lazy(
        "There is no cell with a text or number in it. Put the rows on the sheet, or choose another."
    ),
    "unknown_sheet": gettext_lazy("The file has no sheet called “%(sheet)s”. Choose one of those that it has."),
    "broken_table": gettext_lazy("The file is damaged and cannot be opened. Save it once more and upload that."),
    "binary_column": gettext_lazy(
        "The column “%(column)s” holds bytes that are no text, such as images. Leave it out, then upload the file."
    ),
    "table_too_large": gettext_lazy(
        "Reading the file takes more memory or time than a file may take here. Save it as CSV and upload that."
    ),
    "too_many_rows": gettext_lazy(
        "The file has %(rows)s rows; at most %(limit)s are taken. Split it into several packages."
    ),
    "claimed_rows": gettext_lazy(
        "The file claims to have %(rows)s rows, far more than its size can mean. Leave out empty rows and columns, "
        "then upload it again."
    ),
    "no_good_row": gettext_lazy(
        "No row can be run, of %(rows)s in the file. See why below, correct the file or the task, and go on."
    ),
    "file_lost": gettext_lazy("The uploaded file is no longer there. Upload it again as a new package."),
    "task_outdated": gettext_lazy("The task cannot be run as saved: %(problem)s"),
    "reading_failed": gettext_lazy(
        "Reading the file stopped because of a fault on our side. Go on once more; if it happens again, "
        "tell an operator."
    ),
}

_UNKNOWN = gettext_lazy("The reason has the code “%(code)s”. Ask an operator.")


class _Facts(dict[str, Any]):
    """Facts of which any may be missing: a sentence with a gap is better than none."""

    def __missing__(self, key: str) -> str:
        return "?"


def sentence(code: str, detail: Mapping[str, Any] | None = None) -> str:
    """The sentence for ``code`` with its facts, in the current language. Never raises."""
    facts = _Facts({name: _written(fact) for name, fact in (detail or {}).items()}, code=code)
    if facts.get("problem") in {*ROWS, *FILES}:
        code = facts["problem"]
    return str(ROWS.get(code) or FILES.get(code) or _UNKNOWN) % facts


def _written(fact: Any) -> Any:
    """Numbers grouped, as pages show them; everything else as it is."""
    return wording.count(fact) if isinstance(fact, int) and not isinstance(fact, bool) else fact


def label(code: str) -> str:
    """A few words for ``code``, in the current language; the code itself when it is unknown."""
    return str(LABELS[code]) if code in LABELS else code


def refusal_sentence(refusal: Mapping[str, Any] | None) -> str:
    """The sentence for what ``Package.refusal`` holds (``{"code", "params"}``), or ``""``."""
    return sentence(refusal["code"], refusal.get("params")) if refusal else ""
