"""A small client of the public HTTP API: the demo uses nothing that a department's own script could not."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import httpx


class UnableToGoOn(Exception):
    """The API refused something; the sentence is its own."""


class Slackwater:
    """The API of one installation, as the owner of one key sees it."""

    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._http = httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=60, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        self._http.close()

    def submit(self, manifest: Path, task: Mapping[str, Any]) -> dict[str, Any]:
        """Upload ``manifest`` with what is asked for each of its rows."""
        with manifest.open("rb") as stream:
            sent = self._http.post(
                "/packages", data={"task": json.dumps(task)}, files={"file": (manifest.name, stream)}
            )
        return _read(sent)

    def package(self, ref: str) -> dict[str, Any]:
        return _read(self._http.get(f"/packages/{ref}"))

    def quote(self, ref: str, *, tier: str) -> dict[str, Any]:
        """An offer for the tier's own deadline."""
        return _read(self._http.post(f"/packages/{ref}/quotes", json={"tier": tier}))

    def accept(self, ref: str, quote: str) -> dict[str, Any]:
        return _read(self._http.post(f"/packages/{ref}/accept", json={"quote": quote}))

    def bill(self, month: str) -> dict[str, Any]:
        return _read(self._http.get(f"/bills/{month}"))

    def download(self, path: str, to: Path) -> Path:
        """Save what ``path`` answers, streamed, to the file ``to``."""
        with self._http.stream("GET", path) as answer:
            if answer.status_code >= 400:
                answer.read()
                _read(answer)
            with to.open("wb") as file:
                for chunk in answer.iter_bytes():
                    file.write(chunk)
        return to


def _read(answer: httpx.Response) -> dict[str, Any]:
    try:
        body: dict[str, Any] = answer.json()
    except ValueError:
        body = {}
    if answer.status_code >= 400:
        error = body.get("error", {})
        where = f"{answer.request.method} {answer.request.url.path}"
        raise UnableToGoOn(
            f"{where}: {answer.status_code} {error.get('code', '')}: {error.get('message', answer.text[:300])}"
        )
    return body
