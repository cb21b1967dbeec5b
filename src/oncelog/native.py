"""Takes the compiled hot path (decision 0023) when it is asked for, and only if it was built from the sources that are here.

    ONCELOG_NATIVE=1 oncelog serve ...        compiled if it can be; else a line on stderr, and Python runs
    ONCELOG_NATIVE=require ...                compiled, or an ImportError: what tests and measurements want

`make native` builds into .cache/native; a wheel made with `make wheel-native` carries it in oncelog/_native. Beside the compiled modules lies
built.json with the sha256 of every source that the compiler read.
"""

import os
import sys
from typing import Any, Final

VARIABLE: Final = "ONCELOG_NATIVE"
BUILT: Final = "built.json"
PACKAGE: Final = os.path.dirname(os.path.abspath(__file__))
TAG: Final = f"{sys.implementation.cache_tag}-{sys.platform}-{os.uname().machine}"
PLACES: Final = (
    os.path.join(PACKAGE, "_native", TAG),
    os.path.join(PACKAGE, "..", "..", ".cache", "native", TAG),
)


class Finder:
    """Answers the import of a compiled module with its shared library, and leaves all others to Python."""

    def __init__(self, libraries: dict[str, str]) -> None:
        self._libraries = libraries  # module -> path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002  # Python's words
        library = self._libraries.get(name)
        # A compiled package looks for its modules beside itself: those that are Python stand beside its source.
        if library is None and name.rpartition(".")[0] not in self._libraries:
            return None
        from importlib.util import spec_from_file_location

        source = source_of(name)
        if library is None:
            return spec_from_file_location(name, source) if os.path.exists(source) else None
        inside = [os.path.dirname(source)] if source.endswith("__init__.py") else None
        return spec_from_file_location(name, library, submodule_search_locations=inside)


def source_of(module: str) -> str:
    path = os.path.join(PACKAGE, *module.split(".")[1:])
    return os.path.join(path, "__init__.py") if os.path.isdir(path) else f"{path}.py"


def digest(path: str) -> str:
    from hashlib import sha256

    with open(path, "rb") as file:
        return sha256(file.read()).hexdigest()


def why_not(built: dict[str, Any]) -> str | None:
    """Why these compiled modules do not fit to what is here; None if they do."""
    for module, found in built["sources"].items():
        source = source_of(module)
        if not os.path.exists(source):
            return f"{module} is gone"
        if digest(source) != found:
            return f"{module} was changed after the build"
    return None


def take() -> str | None:
    """Has the compiled modules imported from now on; says why not, if it cannot be."""
    from json import load

    from oncelog.compiled import MODULES

    place = next((each for each in PLACES if os.path.exists(os.path.join(each, BUILT))), None)
    if place is None:
        return f"nothing was built for {TAG}; see `make native`"
    with open(os.path.join(place, BUILT), encoding="utf-8") as file:
        built: dict[str, Any] = load(file)
    reason = why_not(built)
    if reason is not None:
        return f"{reason}; see `make native`"
    early = [each for each in MODULES if each in sys.modules]
    if early:
        return f"{early[0]} was imported already"
    libraries = {name: os.path.join(place, library) for name, library in built["libraries"].items()}
    sys.meta_path.insert(0, Finder(libraries))
    return None


def take_if_asked() -> None:
    """As the environment says."""
    wish = os.environ.get(VARIABLE, "")
    if wish in ("", "0"):
        return
    reason = take()
    if reason is not None:
        if wish == "require":
            raise ImportError(f"the compiled hot path was required: {reason}")
        sys.stderr.write(f"oncelog: not compiled, Python runs: {reason}\n")


def is_taken() -> bool:
    return any(isinstance(each, Finder) for each in sys.meta_path)
