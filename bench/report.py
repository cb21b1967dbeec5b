"""What a run of bench.run found, as a table: medians, ratios of the same round, and their spread."""

import statistics
from typing import Any


def table(found: dict[str, Any]) -> str:
    lines = ["| figure | oncelog | Apache Kafka 4.3.1 | ratio (median, min..max) |", "|---|---|---|---|"]
    for name in dict.fromkeys(run["cell"] for run in found["runs"]):
        ours = [
            run["records_per_second"]
            for run in found["runs"]
            if run["cell"] == name and run["target"] == "oncelog"
        ]
        theirs = [
            run["records_per_second"]
            for run in found["runs"]
            if run["cell"] == name and run["target"] != "oncelog"
        ]
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        lines.append(
            f"| {name}, records/s | {statistics.median(ours):,.0f} | {statistics.median(theirs):,.0f} | "
            f"{statistics.median(ratios):.2f}x ({min(ratios):.2f}..{max(ratios):.2f}) |"
        )
    ours = [start["seconds"] for start in found["starts"] if start["target"] == "oncelog"]
    theirs = [start["seconds"] for start in found["starts"] if start["target"] != "oncelog"]
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    lines.append(
        f"| start to first acked produce, s | {statistics.median(ours):.3f} | {statistics.median(theirs):.3f} | "
        f"{statistics.median(ratios):.3f}x ({min(ratios):.3f}..{max(ratios):.3f}) |"
    )
    rss = found["idle_rss_mb"]
    lines.append(
        f"| resident memory idle, MB | {rss['oncelog']:.0f} | {rss['Apache Kafka']:.0f} | "
        f"{rss['oncelog'] / rss['Apache Kafka']:.3f}x |"
    )
    return "\n".join(lines) + "\n"


def conditions(found: dict[str, Any]) -> str:
    """The circumstances of a run, in a sentence."""
    machine = found["machine"]
    others = [run["other_load"] for run in found["runs"]]
    return (
        f"{found['rounds']} rounds, both brokers interleaved, durability=process on both sides, client on the same "
        f"{machine['cores']} cores, Python {machine['python']}; other load of the machine "
        f"{min(others):.2f} to {max(others):.2f} of all cores."
    )
