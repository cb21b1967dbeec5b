"""A story as text: scenes of steps, a line, and below it what was said. Knows how it is written, not what it means.

The first paragraph is the head: comments, and on which broker the story is played:
    broker NAME=VALUE     a setting of the broker, whichever it is
    oncelog NAME=VALUE    a setting of oncelog alone
    only oncelog          Apache Kafka has no such behaviour; what is below the lines is then oncelog's
Every other paragraph is a scene: comments, steps, and if anything was said a line `----` and the words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

LINE: Final = "----"


class BadScript(Exception):
    """Says which line of which story cannot be read, what was wanted and what was found."""


@dataclass(frozen=True, slots=True)
class Step:
    """Words, and options that were written as name=value."""

    text: str
    words: tuple[str, ...]
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scene:
    upper: tuple[str, ...]  # comments and steps as they stand in the file
    said: tuple[str, ...]

    @property
    def steps(self) -> list[Step]:
        return [read_step(line) for line in self.upper if not line.startswith("#")]


@dataclass(frozen=True, slots=True)
class Script:
    name: str
    head: tuple[str, ...]
    scenes: tuple[Scene, ...]
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    oncelog_settings: Mapping[str, str] = field(default_factory=dict[str, str])
    only_oncelog: bool = False

    def text(self) -> str:
        paragraphs = ["\n".join(self.head)]
        for scene in self.scenes:
            lower = (LINE, *scene.said) if scene.said else ()
            paragraphs.append("\n".join((*scene.upper, *lower)))
        return "\n\n".join(paragraphs) + "\n"

    def retold(self, said: Sequence[Sequence[str]]) -> "Script":
        """The same steps, and what was said this time."""
        scenes = [replace(scene, said=tuple(some)) for scene, some in zip(self.scenes, said, strict=True)]
        return replace(self, scenes=tuple(scenes))


def read_step(line: str) -> Step:
    words = [word for word in line.split() if "=" not in word]
    options = dict(word.split("=", 1) for word in line.split() if "=" in word)
    return Step(line, tuple(words), options)


def read_script(name: str, text: str) -> Script:
    paragraphs = [part.splitlines() for part in text.strip("\n").split("\n\n")]
    if not paragraphs[0][0].startswith("#"):
        raise BadScript(f"{name}: wanted a head that begins with a comment, found {paragraphs[0][0]!r}")
    settings: dict[str, dict[str, str]] = {"broker": {}, "oncelog": {}}
    only = False
    for line in paragraphs[0]:
        step = read_step(line)
        if line.startswith("#"):
            continue
        if line == "only oncelog":
            only = True
        elif step.words and step.words[0] in settings and len(step.options) == 1:
            settings[step.words[0]].update(step.options)
        else:
            raise BadScript(
                f"{name}: wanted a setting (broker NAME=VALUE) or 'only oncelog' in the head, found {line!r}"
            )
    scenes = tuple(_read_scene(name, lines) for lines in paragraphs[1:])
    return Script(name, tuple(paragraphs[0]), scenes, settings["broker"], settings["oncelog"], only)


def _read_scene(name: str, lines: list[str]) -> Scene:
    at = lines.index(LINE) if LINE in lines else len(lines)
    upper, said = tuple(lines[:at]), tuple(lines[at + 1 :])
    if all(line.startswith("#") for line in upper):
        raise BadScript(f"{name}: wanted steps, found only {lines!r}")
    return Scene(upper, said)


def load(path: Path) -> Script:
    return read_script(path.stem, path.read_text())
