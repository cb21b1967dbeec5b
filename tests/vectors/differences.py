"""The rows of the vectors in which oncelog may differ from Apache Kafka, each with its reason. Nothing else may.

Most hold for end.txn.reply=complete, our default: EndTxn, and whoever fences, is answered when the transaction is
complete and not when its end is decided. With end.txn.reply=prepared (Kafka's timing) only `ALWAYS` is left.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

WAITED: Final = (
    "the answer before came when the transaction was complete, so there is nothing left to be busy with"
)
WAITED_THEN: Final = "follows from the row before"
NOT_BELOW_START: Final = (
    "Kafka's last stable offset falls below the log start, to the base of the batch that was cut: a read_committed "
    "reader that begins at the latest offset is told one that it may not fetch, over and over"
)
STALE_INIT: Final = (
    "an instance that repairs itself with an epoch of before is a zombie or a late copy; on Kafka it aborts its successor's "
    "transaction and fences it (decision 0010; not with transaction.late.requests.refuse=false)"
)


class Difference(NamedTuple):
    vector: str
    ask: str
    oncelog: str
    reason: str


DIFFERENCES: Final[tuple[Difference, ...]] = (
    Difference("V17", "Init again at once", "NONE (P,2)", WAITED),
    Difference("V17", "state", "Empty (P,2)", WAITED_THEN),
    Difference("V17", "Init when complete", "NONE (P,3)", WAITED_THEN),
    Difference("V43", "at once commit", "NONE", WAITED),
    Difference("V43", "at once abort", "INVALID_TXN_STATE", WAITED),
    Difference("V53", "at once commit 2", "NONE (P,3)", WAITED),
)
ALWAYS: Final[tuple[Difference, ...]] = (
    Difference("2.4", "Ongoing E-1", "PRODUCER_FENCED Ongoing", STALE_INIT),
    Difference("PS-9", "cut to 2", "LSO 2 start 2, latest 2", NOT_BELOW_START),
    Difference("PS-9", "fetch from the latest, cut to 2", "NONE", NOT_BELOW_START),
    Difference("PS-9", "cut to 7", "LSO 7 start 7, latest 7", NOT_BELOW_START),
    Difference("PS-9", "fetch from the latest, cut to 7", "NONE", NOT_BELOW_START),
)
_REASONS: Final = {(each.vector, each.ask): each.reason for each in (*DIFFERENCES, *ALWAYS)}


def allowed(vector: str, target: str) -> Mapping[str, str]:
    """What is wanted of this broker instead of Kafka's answer, by row."""
    ours = {"oncelog": (*DIFFERENCES, *ALWAYS), "prepared": ALWAYS}.get(target, ())
    return {each.ask: each.oncelog for each in ours if each.vector == vector}


def reason_of(vector: str, ask: str) -> str | None:
    """Why this row may differ."""
    return _REASONS.get((vector, ask))
