"""What a command needs before it can run: system packages and the Python environment.

Standard library only, because this runs before anything is installed. A second call finds the stamp and skips.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
LOCKS = (ROOT / "requirements.lock", ROOT / "models.lock")
STAMP = VENV / "installed.sha256"

PAGES = ("gettext",)
BILLS = ("libpango-1.0-0", "libpangoft2-1.0-0", "libharfbuzz-subset0", "fonts-noto-cjk")
BROWSER = ("chromium", "poppler-utils")
SYSTEM_PACKAGES = {
    "demo": PAGES + BILLS,
    "up": PAGES + BILLS,
    "bench": PAGES + BILLS,
    "check": PAGES + BILLS,
    "test": PAGES + BILLS + BROWSER,
}


def ensure(command: str) -> Path:
    """Install what ``command`` needs; returns the environment's Python. Exits with a sentence where it cannot."""
    _ensure_system_packages(SYSTEM_PACKAGES.get(command, ()))
    _ensure_environment()
    return VENV / "bin" / "python"


def _is_installed(package: str) -> bool:
    asked = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True, check=False)
    return asked.stdout == "install ok installed"


def _ensure_system_packages(packages: tuple[str, ...]) -> None:
    if not packages:
        return
    if not shutil.which("dpkg-query"):
        _say(f"This is not Debian: make sure yourself that there is {', '.join(packages)}.")
        return
    missing = [package for package in packages if not _is_installed(package)]
    if missing:
        _install(missing)


def _install(missing: list[str]) -> None:
    """As root, or by sudo that asks no password; otherwise print the line and stop."""
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    as_root: list[str] = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    may_install = not as_root or (
        shutil.which("sudo") and subprocess.run([*as_root, "true"], capture_output=True, check=False).returncode == 0
    )
    if not may_install:
        sys.exit(
            f"Some system packages are missing. Install them, then run this again:\n\n    sudo {' '.join(install)}\n"
        )
    _say(f"Installing system packages: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for line in (["apt-get", "update", "--quiet"], install):
        done = subprocess.run([*as_root, *line], env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            sys.exit(f"`{' '.join(line)}` failed with status {done.returncode}; its own words are above.")


def _fingerprint() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for lock in LOCKS:
        digest.update(lock.read_bytes())
    return digest.hexdigest()


def _ensure_environment() -> None:
    """Create .venv and install the locked packages, unless the stamp says that these locks are in it."""
    wanted = _fingerprint()
    if _stamped() == wanted:
        return
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second command started meanwhile waits, then finds the stamp
        if _stamped() == wanted:
            return
        if not (VENV / "bin" / "python").exists():
            _create_environment()
        _say("Installing the locked Python packages into .venv (the first time takes a few minutes) …")
        requirements = [argument for path in LOCKS for argument in ("-r", str(path))]
        pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "--no-deps", "--require-hashes", *requirements], check=False)
        if done.returncode:
            sys.exit("The Python packages could not be installed; pip's own words are above.")
        STAMP.write_text(wanted)


def _stamped() -> str:
    return STAMP.read_text() if STAMP.exists() else ""


def _create_environment() -> None:
    _say("Creating .venv …")
    try:
        venv.create(VENV, with_pip=True, symlinks=True)
    except (subprocess.CalledProcessError, ImportError):
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(
            "Python's venv module is incomplete. Install it, then run this again: sudo apt-get install python3-venv"
        )


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
