"""Names are the field's terms (GLOSSARY.md): these words are not ours, because each hides what a thing is."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = sorted(
    path
    for room in ("portal", "scheduler", "gpuworker", "deploy")
    for path in (ROOT / room).rglob("*.py")
    if "migrations" not in path.parts
)
BANNED = re.compile(r"(^|_)(batch|batches|job|jobs|manager|managers|handler|handlers|util|utils|helper|helpers)(_|$)")
FIXED_BY_OTHERS = {"PersonManager", "add_exception_handler"}
"""Names that Django or another library asks for."""


def words(name: str) -> str:
    """``PersonManager`` and ``person_manager`` alike as ``person_manager``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def defined_names(tree: ast.AST) -> set[str]:
    """Classes, functions, arguments and what is assigned to."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_banned_word_in_a_name(path: Path) -> None:
    names = defined_names(ast.parse(path.read_text(encoding="utf-8"))) | {path.stem}
    banned = {name for name in names if BANNED.search(words(name))} - FIXED_BY_OTHERS
    assert not banned
