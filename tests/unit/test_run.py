"""``./run`` answers what it can before it installs anything."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "start everything and stay"),
        (["--help"], 0, "start everything and stay"),
        (["up", "--help"], 0, "--listen"),
        (["dmeo"], 2, "invalid choice: 'dmeo'"),
        (["up", "--prot", "1"], 2, "unrecognized arguments"),
        (["chaos"], 2, "not built yet"),
    ],
)
def test_help_and_mistakes_install_nothing(tmp_path: Path, arguments: list[str], status: int, said: str) -> None:
    shutil.copy2(ROOT / "run", tmp_path)
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    # -S: without any installed package, as on a machine that has only Python
    command = [sys.executable, "-I", "-S", str(tmp_path / "run"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"run", "deploy"}
