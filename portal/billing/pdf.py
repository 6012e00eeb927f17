"""HTML in, PDF out, in a process of its own: ``python -m portal.billing.pdf FONT < page.html > page.pdf``.

The page may fetch nothing but the one font file under ``slackwater:font``. A glyph that no font has is a failure,
because a bill must not show boxes. Memory and processor time are limited. Ends with 1 and a sentence on stderr when
it fails.
"""

import logging
import resource
import subprocess
import sys
from pathlib import Path

from django.conf import settings

FONT_URL = "slackwater:font"
FONT = Path("static/vendor/inter/inter-latin.woff2")
SECONDS = 120
MEMORY_BYTES = 3 * 1024**3
_ENVIRONMENT = {  # no secret of the portal; the last two make the same page the same bytes
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
}


class UnableToRender(RuntimeError):
    """The page could not be made into a PDF; the message says why."""


def render_pdf(html: str) -> bytes:
    """The PDF of ``html``. Raises :class:`UnableToRender`."""
    root: Path = settings.BASE_DIR
    try:
        done = subprocess.run(
            [sys.executable, "-m", "portal.billing.pdf", str(root / FONT)],
            input=html.encode(),
            capture_output=True,
            cwd=root,
            env=_ENVIRONMENT | {"HOME": str(settings.VAR_DIR)},
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UnableToRender(f"the page took longer than {SECONDS} s") from error
    if done.returncode != 0 or not done.stdout.startswith(b"%PDF"):
        raise UnableToRender(done.stderr.decode(errors="replace").strip()[-2000:] or f"status {done.returncode}")
    return done.stdout


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _Trouble(logging.Handler):
    """Keeps what WeasyPrint complains about: a refused fetch, a missing glyph, a rule that it does not know."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _main(font: Path) -> int:
    _limit()
    import weasyprint
    from weasyprint.text.fonts import FontConfiguration
    from weasyprint.urls import URLFetcher, URLFetcherResponse

    class OneFont(URLFetcher):  # type: ignore[misc]
        """Answers for the font and nothing else."""

        def fetch(self, url: str, headers: dict[str, str] | None = None) -> URLFetcherResponse:  # noqa: ARG002
            if url != FONT_URL:
                raise ValueError("a bill fetches nothing")
            return URLFetcherResponse(url, font.read_bytes(), {"Content-Type": "font/woff2"})

    trouble = _Trouble()
    logging.getLogger("weasyprint").handlers = [trouble]
    page = weasyprint.HTML(string=sys.stdin.buffer.read().decode(), url_fetcher=OneFont())
    made = page.write_pdf(font_config=FontConfiguration(), pdf_variant="pdf/a-3u")
    if trouble.said:
        print("\n".join(trouble.said), file=sys.stderr)  # noqa: T201
        return 1
    sys.stdout.buffer.write(made)
    return 0


if __name__ == "__main__":
    raise SystemExit(_main(Path(sys.argv[1])))
