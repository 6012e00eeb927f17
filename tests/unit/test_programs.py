"""What supervisord is told: every program once, paths and values with any character, one fate."""

from configparser import RawConfigParser
from pathlib import Path

import pytest

from deploy.embedded.programs import Place, PoolWorkers, Program, all_programs, supervisord_config

POOL = PoolWorkers("local", "small", "llama_cpp", "package:x", 2048, 4, 1)


def read(text: str) -> RawConfigParser:
    parser = RawConfigParser(interpolation=None, inline_comment_prefixes=None, comment_prefixes=(";",))
    parser.read_string(text)
    return parser


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, "127.0.0.1", {"portal": 1, "valkey": 2})


def test_everything_runs_and_stops_together(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL")
    config = read(supervisord_config(place, all_programs(place, [POOL])))
    programs = {section.removeprefix("program:") for section in config.sections() if section.startswith("program:")}
    assert programs == {"valkey", "portal", "celery", "scheduler", "worker-local"}
    assert set(config["group:slackwater"]["programs"].split(",")) == programs - {"valkey"}
    for name in programs:
        section = config[f"program:{name}"]
        assert section["command"].startswith("setpriv --pdeathsig TERM -- ")
        assert section["autorestart"] == "true"


def test_a_clean_stop_keeps_what_is_on_the_bus(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL")
    all_programs(place, [])
    lines = (place.var / "valkey.conf").read_text().splitlines()
    assert "shutdown-on-sigterm save" in lines
    assert f"dbfilename {place.kept_bus.name}" in lines


def test_somebody_elses_redis_is_used_instead_of_our_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere:6379/0")
    assert "valkey" not in {program.name for program in all_programs(place, [])}


def test_values_survive_supervisords_own_syntax(place: Place) -> None:
    text = supervisord_config(place, [Program("one", ["/bin/a b", "50%"], {"WHERE": 'x"y,%z\\'})])
    section = read(text)["program:one"]
    assert section["command"].endswith("-- '/bin/a b' 50%%")
    assert section["environment"] == 'WHERE="x\\"y,%%z\\\\"'


def test_a_worker_for_each_replica_but_no_more_than_cores(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    many = PoolWorkers("big", "small", "echo", "", 2048, 4, 10_000)
    workers = all_programs(place, [many])[-1]
    assert workers.copies == 3


def test_a_deep_folder_gets_a_short_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    config = read(supervisord_config(Place(deep, "127.0.0.1", {"portal": 1, "valkey": 2}), []))
    assert len(config["unix_http_server"]["file"]) < 100


def test_one_long_reading_does_not_keep_all_others_waiting(place: Place) -> None:
    (celery,) = [program for program in all_programs(place, []) if program.name == "celery"]
    assert celery.command[celery.command.index("--concurrency") + 1] == "2"
