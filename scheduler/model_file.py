"""Where a model's file lies: a path, or ``package:NAME`` for the one GGUF file inside an installed package."""

from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "package:"


class UnableToFindModel(FileNotFoundError):
    """The location names no model file on this machine."""


def model_file(location: str) -> Path:
    """The file that ``location`` names; raises :class:`UnableToFindModel` with what to do."""
    if location.startswith(_PACKAGE):
        return _file_of_package(location.removeprefix(_PACKAGE))
    path = Path(location)
    if not path.is_file():
        raise UnableToFindModel(f"there is no model file {location!r}: correct the model's location")
    return path


def _file_of_package(name: str) -> Path:
    # The package is only located, not imported: model packages import plug-in hosts that need not be installed.
    spec = find_spec(name) if name.isidentifier() else None
    if spec is None or spec.submodule_search_locations is None:
        raise UnableToFindModel(f"the package {name!r} is not installed: install it or correct the model's location")
    files = sorted(file for folder in spec.submodule_search_locations for file in Path(folder).glob("*.gguf"))
    if len(files) != 1:
        raise UnableToFindModel(f"the package {name!r} holds {len(files)} GGUF files: name one by its path")
    return files[0]
