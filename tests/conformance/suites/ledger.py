"""The kept lists of a foreign test suite: what passes (it may only grow) and what is left out, with reasons.

NAME.passes    one test per line
NAME.excluded  sections: a line `# reason`, then the tests it holds for, one per line
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Ledger:
    """Both lists of one suite."""

    name: str
    passes: tuple[str, ...]
    excluded: Mapping[str, str]  # test -> reason

    @classmethod
    def load(cls, name: str, folder: Path = HERE) -> "Ledger":
        passes = (folder / f"{name}.passes").read_text().split()
        excluded: dict[str, str] = {}
        reason = ""
        for line in (folder / f"{name}.excluded").read_text().splitlines():
            if line.startswith("#"):
                reason = line.removeprefix("#").strip()
            elif line.strip():
                if not reason:
                    raise ValueError(f"{name}.excluded: {line.strip()} stands before any '# reason' line")
                excluded[line.strip()] = reason
        both = sorted(set(passes) & set(excluded))
        if both:
            raise ValueError(f"{name}: listed as passing and as excluded: {', '.join(both)}")
        if len(set(passes)) != len(passes):
            raise ValueError(f"{name}.passes holds a test twice")
        return cls(name, tuple(passes), excluded)

    def is_excluded(self, test: str) -> bool:
        """Itself, or a test that it is a part of ("TestA/part")."""
        parts = test.split("/")
        return any("/".join(parts[:count]) in self.excluded for count in range(1, len(parts) + 1))

    def judge(self, outcomes: Mapping[str, str], asked: Collection[str] | None = None) -> "Verdict":
        """`outcomes`: test -> pass, fail or skip. `asked`: the listed tests that were to run, if not all."""
        wanted = [test for test in self.passes if asked is None or test in asked]
        return Verdict(
            lost=tuple(
                f"{test}: {outcomes.get(test, 'not run')}" for test in wanted if outcomes.get(test) != "pass"
            ),
            gained=tuple(
                sorted(
                    test
                    for test, outcome in outcomes.items()
                    if outcome == "pass" and test not in self.passes
                )
            ),
            unexplained=tuple(
                sorted(
                    f"{test}: {outcome}"
                    for test, outcome in outcomes.items()
                    if outcome != "pass" and test not in self.passes and not self.is_excluded(test)
                )
            ),
        )

    def accept(self, gained: Collection[str], folder: Path = HERE) -> None:
        """Writes the longer list of passes."""
        names = sorted({*self.passes, *gained})
        (folder / f"{self.name}.passes").write_text("".join(f"{name}\n" for name in names))


@dataclass(frozen=True, slots=True)
class Verdict:
    lost: tuple[str, ...]  # listed as passing, and did not
    gained: tuple[str, ...]  # passed, and not listed yet
    unexplained: tuple[str, ...]  # did not pass, neither listed nor excluded

    @property
    def good(self) -> bool:
        return not self.lost and not self.unexplained

    def text(self) -> str:
        parts = [
            ("listed as passing, but", self.lost),
            ("not passing and without a reason", self.unexplained),
        ]
        parts.append(("passing and not listed yet", self.gained))
        return "".join(f"{title}:\n  " + "\n  ".join(tests) + "\n" for title, tests in parts if tests)
