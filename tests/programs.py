"""Running our programs beside a test, on the test's own stores."""

import time
from collections.abc import Callable

from django.db import connection


def until(true: Callable[[], bool], *, within_s: float = 20.0) -> None:
    """Look again and again until it is ``true``; fails when that takes too long."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)  # between two looks


def database_url() -> str:
    """The tests' own database, for another program."""
    its = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{its['NAME']}"
    return f"postgresql://{its['USER']}:{its['PASSWORD']}@{its['HOST']}:{its['PORT']}/{its['NAME']}"
