"""``manage.py prepare``: everything that must be up to date before the programs start."""

import hashlib
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, call_command
from django.utils import timezone

from portal.capacity.models import Pool
from portal.operations.seed import seed


class Command(BaseCommand):
    help = "Migrates, compiles translations, collects static files, seeds; prints the open pools as JSON."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", action="store_true", help="also the demo's departments and people")
        parser.add_argument("--echo", action="store_true", help="also the echo model with a pool")

    def handle(self, *_args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False, stdout=self.stderr)
        self._translations()
        self._static_files()
        seed(folder=settings.VAR_DIR, demo=options["demo"], echo=options["echo"], now=timezone.now())
        self.stdout.write(json.dumps([_described(pool) for pool in _open_pools()]))

    def _translations(self) -> None:
        texts = [path for folder in settings.LOCALE_PATHS for path in Path(folder).rglob("*.po")]
        if any(not _is_newer(path.with_suffix(".mo"), path) for path in texts):
            call_command("compilemessages", verbosity=0, ignore_patterns=[".venv", "var"], stdout=self.stderr)

    def _static_files(self) -> None:
        stamp = settings.STATIC_ROOT / "collected.sha256"
        wanted = _fingerprint([Path(folder) for folder in settings.STATICFILES_DIRS])
        if stamp.exists() and stamp.read_text() == wanted:
            return
        call_command("collectstatic", verbosity=0, interactive=False, clear=True, stdout=self.stderr)
        stamp.write_text(wanted)


def _open_pools() -> list[Pool]:
    return list(Pool.objects.filter(is_open=True, model__is_enabled=True).select_related("model"))


def _described(pool: Pool) -> dict[str, Any]:
    """What a worker of ``pool`` must be told (``deploy.embedded.programs.PoolWorkers``)."""
    return {
        "pool": pool.name,
        "model": pool.model.name,
        "engine": pool.model.engine,
        "location": pool.model.location,
        "context_tokens": pool.model.context_tokens,
        "max_in_flight": pool.max_in_flight,
        "replicas": pool.replicas,
    }


def _is_newer(made: Path, source: Path) -> bool:
    return made.exists() and made.stat().st_mtime >= source.stat().st_mtime


def _fingerprint(folders: list[Path]) -> str:
    """Of names and contents of every file under ``folders``."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
