"""supervisord that outlives a full disk: what cannot be logged is dropped, and everything goes on.

``python -m deploy.embedded.supervise -c FILE`` is supervisord itself. Its own log writers let an error of the disk
end the supervisor, and with it every program; these do not.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from supervisor import loggers, supervisord


class LossyLog(loggers.RotatingFileHandler):  # type: ignore[misc]
    """A rotated log file that loses lines rather than its writer."""

    stream: Any

    def emit(self, record: Any) -> None:
        """Write ``record`` if that is possible now; a file lost while rotating is opened again."""
        with suppress(OSError):
            if self.stream.closed:
                self.stream = Path(self.baseFilename).open(self.mode)  # noqa: SIM115
            super().emit(record)

    def handleError(self) -> None:
        """Say what is wrong, unless it is the disk: standard error may lie on the same one."""
        if not isinstance(sys.exception(), OSError):
            with suppress(OSError):
                super().handleError()

    def close(self) -> None:
        with suppress(OSError):
            super().close()


def install() -> None:
    """Every log that supervisord opens from now on is a :class:`LossyLog`."""
    loggers.RotatingFileHandler = LossyLog


if __name__ == "__main__":
    install()
    supervisord.main()
