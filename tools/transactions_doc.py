"""Draws the state diagram and the EndTxn tables of docs/transactions.md from the rules in oncelog.txn."""

import sys

from oncelog.errors import ErrorCode
from oncelog.txn.coordinator import END_TV1, END_TV2
from oncelog.txn.state import MAY_FOLLOW, State
from tools.generated import ROOT, filled, main

DOCUMENT = ROOT / "docs/transactions.md"
IN_MEMORY_ONLY = (State.DEAD, State.PREPARE_EPOCH_FENCE)


def diagram() -> str:
    """One arrow per pair of the transition table."""
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f"    {state.kafka_name}: {state.kafka_name} ({state.value})" for state in State]
    lines += [
        f"    {before.kafka_name} --> {after.kafka_name}"
        for after, befores in MAY_FOLLOW.items()
        for before in sorted(befores)
    ]
    lines += [f"    note right of {state.kafka_name}: in memory only" for state in IN_MEMORY_ONLY]
    return "\n".join([*lines, "```"])


def _cell(step: ErrorCode | State) -> str:
    return f"**{step.kafka_name}**" if isinstance(step, State) else step.name


def end_tables() -> str:
    """What EndTxn does in every state, for both protocols; a bold cell is the state it goes to."""
    rows = ["| state | v0-v4 commit | v0-v4 abort |", "|---|---|---|"]
    rows += [
        f"| {state.kafka_name} | {_cell(END_TV1[state, True])} | {_cell(END_TV1[state, False])} |"
        for state in State
        if (state, True) in END_TV1
    ]
    rows += [
        "",
        "| state | v5 commit, current epoch | v5 commit, retry | v5 abort, current epoch | v5 abort, retry |",
        "|---|---|---|---|---|",
    ]
    for state in State:
        if (state, True, True) in END_TV2:
            cells = [
                _cell(END_TV2[state, commit, retry]) for commit in (True, False) for retry in (False, True)
            ]
            rows.append(f"| {state.kafka_name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def document() -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    return filled(filled(text, "states", diagram()), "end of a transaction", end_tables())


if __name__ == "__main__":
    sys.exit(main(DOCUMENT, document(), __doc__))
