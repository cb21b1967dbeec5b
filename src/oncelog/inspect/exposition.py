"""Prometheus' text format: families of samples, and nothing of what they mean."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Labels = Mapping[str, object]


@dataclass(slots=True)
class Family:
    """One metric with its samples. Those of a histogram have a suffix: _bucket, _sum, _count."""

    name: str
    kind: str  # "gauge", "counter" or "histogram"
    text: str
    samples: list[tuple[str, Labels, float]] = field(default_factory=list[tuple[str, Labels, float]])

    def add(self, value: float, **labels: object) -> None:
        self.samples.append(("", labels, value))

    def add_part(self, suffix: str, value: float, **labels: object) -> None:
        self.samples.append((suffix, labels, value))


def exposition(families: Iterable[Family]) -> str:
    """Prometheus' text; families without a sample are left out."""
    lines: list[str] = []
    for family in families:
        if not family.samples:
            continue
        lines.append(f"# HELP {family.name} {family.text}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for suffix, labels, value in family.samples:
            named = ",".join(f'{name}="{_escape(str(each))}"' for name, each in labels.items())
            shown = repr(value) if isinstance(value, float) and not value.is_integer() else str(int(value))
            lines.append(
                f"{family.name}{suffix}{{{named}}} {shown}" if named else f"{family.name}{suffix} {shown}"
            )
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
