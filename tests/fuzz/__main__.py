"""``python -m tests.fuzz MINUTES``: the properties of test_readers with ever new inputs, which it counts."""

import os
import sys
import time
import traceback
from collections.abc import Callable

import django
from hypothesis import settings

from tests.fuzz import test_readers
from tests.fuzz.inputs import WHOLE, WHOLE_APART
from tests.fuzz.reading import TRIED

settings.register_profile("long", database=None, derandomize=False, print_blob=True)


def main(minutes: float) -> int:
    """How many properties failed."""
    settings.load_profile("long")
    ends = time.monotonic() + minutes * 60
    faults: set[str] = set()
    while time.monotonic() < ends:
        for name, holds in _properties().items():
            if name not in faults and time.monotonic() < ends and not _held(name, holds):
                faults.add(name)
    print(f"{sum(TRIED.values())} inputs:", ", ".join(f"{count} {what}" for what, count in sorted(TRIED.items())))
    print(f"{len(faults)} properties failed", *sorted(faults))
    return len(faults)


def _properties() -> dict[str, Callable[[], None]]:
    simple = {name: getattr(test_readers, name) for name in vars(test_readers) if name.startswith("test_")}
    whole = simple.pop("test_a_table_comes_through_any_format")
    apart = simple.pop("test_a_table_comes_through_formats_that_others_read")
    for name in WHOLE:
        simple[f"whole {name}"] = lambda name=name: whole(name)
    for name in WHOLE_APART:
        simple[f"whole {name}"] = lambda name=name: apart(name)
    return simple


def _held(name: str, holds: Callable[[], None]) -> bool:
    try:
        holds()
    except Exception:
        print(f"FAULT in {name}", flush=True)
        traceback.print_exc()
        return False
    return True


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    django.setup()
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))
