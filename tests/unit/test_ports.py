"""Ports are kept from start to start and change only when somebody else has taken one."""

import json
import socket
from pathlib import Path

from deploy.embedded import ports


def test_ports_are_kept(tmp_path: Path) -> None:
    first = ports.choose(tmp_path / "ports.json")
    assert ports.choose(tmp_path / "ports.json") == first
    assert len(set(first.values())) == len(ports.NAMES)


def test_a_taken_port_is_chosen_again_and_the_other_kept(tmp_path: Path) -> None:
    first = ports.choose(tmp_path / "ports.json")
    with socket.socket() as other:
        other.bind(("127.0.0.1", first["portal"]))
        other.listen()
        second = ports.choose(tmp_path / "ports.json")
    assert second["portal"] != first["portal"]
    assert second["valkey"] == first["valkey"]


def test_a_broken_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "ports.json").write_text('{"portal": "x", "valkey"')
    chosen = ports.choose(tmp_path / "ports.json")
    assert json.loads((tmp_path / "ports.json").read_text()) == chosen


def test_a_port_that_is_asked_for_is_used(tmp_path: Path) -> None:
    assert ports.choose(tmp_path / "ports.json", wanted_portal=12345)["portal"] == 12345
