"""Histories as text, for tests: a line is `process what arguments -> end`, or `label: process what arguments` and later
`label -> end` where others happen in between.

init ID -> ok PRODUCER/EPOCH              send PARTITION a,b [txn=T] [keys=k,l] [group=G from=in-0@3,in-0@4] [plain] -> ok OFFSET
end TXN commit|abort -> ok                offsets GROUP in-0=5 [txn=T] -> ok
poll PARTITION [at=N] [uncommitted] [final] [txn=T] -> ok 0=a 1=b next=N [start=N] [lso=N] [hw=N]
fetch GROUP [unstable] [final] -> ok in-0=5        seek PARTITION        compact PARTITION        crash power
"""

from oncelog.sim.history import (
    CommitOffsets,
    Crash,
    End,
    EndTxn,
    FetchOffsets,
    History,
    Init,
    Op,
    Partition,
    Poll,
    Seek,
    Send,
)


def play(text: str, history: History) -> None:
    """Makes the history that the text tells."""
    waiting: dict[str, Op] = {}
    for line in text.strip().splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        asked, arrow, end = (each.strip() for each in line.partition("->"))
        if asked in waiting:
            op = waiting.pop(asked)
        else:
            label, colon, rest = asked.partition(": ")
            op = history.invoke(_op(rest if colon else asked))
            if colon:
                waiting[label] = op
        if arrow or isinstance(op, Seek | Partition | Crash):
            _finish(history, op, end or "ok")


def _op(text: str) -> Op:
    process, what, *words = text.split()
    named = dict(word.split("=", 1) for word in words if "=" in word)
    plain = [word for word in words if "=" not in word]
    txn = named.get("txn")
    match what:
        case "init":
            return Init(process=process, id=plain[0])
        case "send":
            origins = [each.split("@") for each in named["from"].split(",")] if "from" in named else None
            return Send(
                process=process,
                partition=plain[0],
                values=plain[1].split(","),
                txn=txn,
                keys=named["keys"].split(",") if "keys" in named else None,
                group=named.get("group"),
                sources=None if origins is None else [(at, int(offset)) for at, offset in origins],
                idempotent="plain" not in plain,
                acks=named.get("acks", "all"),
            )
        case "end":
            return EndTxn(process=process, txn=plain[0], commit=plain[1] == "commit")
        case "offsets":
            offsets = {at: int(offset) for at, offset in named.items() if at != "txn"}
            return CommitOffsets(process=process, group=plain[0], offsets=offsets, txn=txn)
        case "poll":
            return Poll(
                process=process,
                partition=plain[0],
                offset=int(named["at"]) if "at" in named else None,
                committed="uncommitted" not in plain,
                final="final" in plain,
                txn=txn,
            )
        case "fetch":
            return FetchOffsets(
                process=process, group=plain[0], stable="unstable" not in plain, final="final" in plain
            )
        case "seek":
            return Seek(process=process, partition=plain[0])
        case "compact":
            return Partition(process=process, partition=plain[0], compact=True)
        case "crash":
            return Crash(process=process, kept=plain[0])
        case _:
            raise ValueError(f"{what!r} in {text!r}")


def _finish(history: History, op: Op, text: str) -> None:
    end, *words = text.split()
    if isinstance(op, Init) and words:
        op.producer_id, op.epoch = map(int, words[0].split("/"))
    elif isinstance(op, Send) and words:
        op.offset = int(words[0])
    elif isinstance(op, FetchOffsets):
        op.offsets = {at: int(offset) for at, offset in (word.split("=") for word in words)}
    elif isinstance(op, Poll):
        records: list[tuple[int, str]] = []
        for name, value in (word.split("=") for word in words):
            match name:
                case "next":
                    op.next = int(value)
                case "start":
                    op.log_start = int(value)
                case "lso":
                    op.last_stable = int(value)
                case "hw":
                    op.high_watermark = int(value)
                case _:
                    records.append((int(name), value))
        op.records = records
    history.done(op, End(end))
