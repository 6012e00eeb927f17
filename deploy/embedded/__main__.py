"""The commands of ``./run``. Read with the standard library alone; each command imports what it needs."""

import argparse
import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from deploy.embedded import installation
from deploy.embedded.installation import UnableToStart
from deploy.embedded.programs import ROOT

Arguments = argparse.Namespace
NOT_BUILT = ("sim", "chaos", "cluster")


def demo(arguments: Arguments) -> int:
    """Start everything with demo people, run one real package through the API and report."""
    from deploy.embedded import demo as client

    with installation.running(demo=True, echo=False) as place:
        completed = client.run(place, data=arguments.data, limit=arguments.limit, column=arguments.column)
        if not arguments.exit:
            print("\nCtrl-C stops everything.", flush=True)
            installation.stay(place)
    return 0 if completed else 1


def up(arguments: Arguments) -> int:
    """Start everything and stay until Ctrl-C."""
    with installation.running(
        demo=arguments.demo, echo=arguments.echo, listen=arguments.listen, port=arguments.port
    ) as place:
        print(f"Slackwater is up: {place.url}", flush=True)
        for name in ("first-login.json", "demo.json"):
            if (place.var / name).exists():
                print(f"Logins: {place.var / name}", flush=True)
        print("Ctrl-C stops everything.", flush=True)
        installation.stay(place)
    return 0


def manage(arguments: Arguments) -> int:
    """Django's manage.py, with the stores of the installation that runs from this folder."""
    os.environ.update(_environment_here())
    os.execv(sys.executable, [sys.executable, str(ROOT / "manage.py"), *arguments.rest])


def test(arguments: Arguments) -> int:
    """Every test, or those that the arguments name. pytest starts the services that they need."""
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *arguments.rest])


def check(arguments: Arguments) -> int:
    """Everything that can be said about the code without running it."""
    from deploy.embedded import checks

    if arguments.write:
        checks.write_openapi()
    return checks.run()


def bench(arguments: Arguments) -> int:
    """One benchmark by its name."""
    from deploy.embedded import bench as benches

    asked = {"rows": arguments.rows, "only": arguments.only}
    options = {name: value for name, value in asked.items() if value is not None}
    return benches.run(arguments.name, as_json=arguments.json, **options)


def not_built_yet(arguments: Arguments) -> int:
    """Commands that CONTRACTS names and a later version brings."""
    print(f"./run {arguments.command} is not built yet.", file=sys.stderr)
    return 2


def _environment_here() -> dict[str, str]:
    from deploy.embedded import programs

    var = installation.var_folder()
    kept = var / "ports.json"
    ports = json.loads(kept.read_text()) if kept.exists() else {"portal": 0, "valkey": 6379}
    return programs.environment(programs.Place(var, "127.0.0.1", ports))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./run", description="Slackwater: set up, run, test, check.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, does: Callable[[Arguments], int], about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        added.set_defaults(does=does)
        return added

    one = command("demo", demo, "start everything, run a sample package to its end, report")
    one.add_argument("--exit", action="store_true", help="stop afterwards; status 0 only if the package completed")
    one.add_argument("--data", type=Path, metavar="FILE", help="your own manifest (CSV, XLSX, JSONL) instead of ours")
    one.add_argument("--limit", type=int, metavar="N", help="only its first N rows")
    one.add_argument("--column", metavar="NAME", help="the column to tag; by default the one with the longest text")
    one = command("up", up, "start everything and stay")
    one.add_argument("--listen", default="127.0.0.1", metavar="ADDRESS", help="loopback unless you say otherwise")
    one.add_argument("--port", type=int, help="instead of the one kept in var/ports.json")
    one.add_argument("--echo", action="store_true", help="also offer the echo model (deterministic, no language model)")
    one.add_argument("--demo", action="store_true", help="also create the demo departments and people")
    one = command("check", check, "linters, types, layers, templates, translations, migrations, API description")
    one.add_argument("--write", action="store_true", help="first keep the present API description as the agreed one")
    one = command("bench", bench, "one benchmark")
    one.add_argument("name", nargs="?", help="without a name: which there are")
    one.add_argument("--json", action="store_true", help="the last line is one JSON object")
    one.add_argument("--rows", type=int, metavar="N", help="ingest: so many rows in each file, for a quick look")
    one.add_argument("--only", metavar="FORMAT", help="ingest: csv, jsonl or xlsx alone")
    command("test", test, "every test (arguments go to pytest)")
    command("manage", manage, "Django's manage.py")
    for name in NOT_BUILT:
        command(name, not_built_yet, "not built yet")
    return parser


def parse(argv: list[str]) -> Arguments:
    """The command with its arguments. Help and mistakes are answered, and end the program, here."""
    if argv and argv[0] in {"test", "manage", *NOT_BUILT}:  # what follows is for others to parse
        arguments = _parser().parse_args(argv[:1])
        arguments.rest = argv[1:]
        return arguments
    parser = _parser()
    if not argv:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """The exit status of one command."""
    arguments = parse(argv)
    try:
        return int(arguments.does(arguments))
    except UnableToStart as reason:
        print(reason, file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(
            f"The disk is full: {error.filename or installation.var_folder()} cannot be written. "
            "Free some space on it, then start again.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
