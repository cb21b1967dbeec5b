"""`oncelog txn ls | show | stuck | trace | replay | abort | finish`: the transactions of any Kafka, by KIP-664 and our own side door."""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.cli.watch import Doors, amount, iso, now_ms, told_by, watched
from oncelog.client import unfinished
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault, RefusedByBroker
from oncelog.errors import ErrorCode
from oncelog.inspect import abort as aborting
from oncelog.inspect import replay as replaying
from oncelog.inspect import trace as tracing
from oncelog.inspect import views
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.events import UNDER_WAY, Event, from_line
from oncelog.inspect.lengths import age, left
from oncelog.inspect.timeline import Timeline, row, timeline
from oncelog.model import TopicPartition
from oncelog.txn.state import State

NEEDS_ONCELOG: Final = "n/a (needs oncelog broker)"
FOLLOW_S: Final = 0.2
SHOWN_TRANSITIONS: Final = 5


def ls(options: argparse.Namespace) -> int:
    printer = Printer.of(options)

    def once() -> int:
        with connect(options) as cluster:
            try:
                found, away = views.rows(
                    cluster,
                    now_ms=now_ms(),
                    states=[_state_named(each) for each in options.state or ()],
                    longer_than_ms=-1 if options.longer_than is None else int(options.longer_than * 1000),
                    match=options.match,
                )
            except ValueError as fault:
                raise UsageFault(f"--state: {fault}") from None
        rows = [asdict(each) for each in found]
        if not options.json:
            for each in rows:
                each |= {"age": age(each["age_ms"]), "time_left": left(each["time_left_ms"])}
        columns = (
            "transactional_id state producer_id producer_epoch age time_left partitions coordinator".split()
        )
        printer.rows(rows, columns)
        return told_by(printer, away)

    return watched(options, printer, once)


def _state_named(text: str) -> str:
    """Kafka's spelling of a state, whatever the case; what is no state is left for the broker to refuse."""
    return next((each.kafka_name for each in State if each.kafka_name.lower() == text.lower()), text)


def show(options: argparse.Namespace) -> int:
    printer, doors = Printer.of(options), Doors()

    def once() -> int:
        with connect(options) as cluster:
            found = views.transaction(cluster, doors.of(cluster), options.transactional_id, now_ms=now_ms())
            past = tracing.past_of(cluster, options.transactional_id)
            at_ms = now_ms()
        last = replaying.transitions(past)[-SHOWN_TRANSITIONS:]
        if found is None:
            printer.note(
                f"oncelog: transactional id {options.transactional_id!r}: its coordinator does not know it"
            )
            if options.json:
                printer.value(None)
            return Exit.BAD
        last_epoch = replaying.epoch_before(past, found.producer_id, found.producer_epoch)
        if options.json:
            more = {
                "last_epoch": last_epoch,
                "transitions": [asdict(each) for each in last],
                "transitions_untold": past.untold,
            }
            printer.value({**asdict(found), **more})
            return Exit.FINE
        facts = {
            "transactional id": found.transactional_id,
            "state": found.state,
            "producer id / epoch": f"{found.producer_id} / {found.producer_epoch}",
            "last epoch": "not told" if past.untold else "-" if last_epoch is None else last_epoch,
            "under way for": _since(found.age_ms, at_ms),
            "timeout": age(found.timeout_ms),
            "times out in": left(found.time_left_ms),
            "coordinator": found.coordinator,
            "epoch bumped by": _bump(found),
            "last request": last_request(found.last_request, found.from_oncelog),
        }
        printer.rows([{"what": name, "value": value} for name, value in facts.items()], ["what", "value"])
        if found.partitions:
            printer.line("")
            columns = (
                "topic partition start_offset records bytes last_stable_offset high_watermark pins".split()
            )
            printer.rows([asdict(each) for each in found.partitions], columns)
        if past.untold is not None:
            printer.note(
                f"oncelog: the state log is not told ({past.untold}): neither the last epoch nor what it did"
            )
        untold = views.said_of(found.untold)
        if untold is not None:
            printer.note(f"oncelog: {untold}")
        if last:
            printer.line("")
            rows = [
                {**asdict(each), "when": f"{age(max(at_ms - each.at_ms, 0))} ago", "at": iso(each.at_ms)}
                for each in last
            ]
            if not found.from_oncelog:
                rows = [{**each, "cause": NEEDS_ONCELOG} for each in rows]
            printer.rows(rows, "when at state producer_epoch cause offset".split())
        return Exit.FINE

    return watched(options, printer, once)


def _since(age_ms: int | None, now: int) -> str:
    """How long, and since when."""
    return "-" if age_ms is None else f"{age(age_ms)}, since {iso(now - age_ms)}"


def _bump(found: views.TransactionView) -> str:
    if not found.from_oncelog:
        return NEEDS_ONCELOG
    if found.bump is None:
        return "never bumped"
    by = f" {found.bump.client_id} at {found.bump.address}" if found.bump.client_id is not None else ""
    return f"{found.bump.cause}{by}, {age(max(now_ms() - found.bump.at_ms, 0))} ago, to {found.bump.producer_epoch}"


def last_request(found: views.LastRequest | None, from_oncelog: bool) -> str:
    """What the client asked last, and whether it still waits for the answer."""
    if not from_oncelog:
        return NEEDS_ONCELOG
    if found is None:
        return "none is kept"
    answer = "" if found.error == "NONE" else f", {found.error}"
    return f"{found.name} {age(found.ago_ms)} ago by {found.client_id} at {found.address}{answer}"


def stuck(options: argparse.Namespace) -> int:
    """Exit code 1 if any partition is held; 4 if none that is told of is, and some are not told of."""
    printer, doors = Printer.of(options), Doors()

    def once() -> int:
        with connect(options) as cluster:
            at_ms = now_ms()
            surveyed = views.survey(cluster, doors.of(cluster), now_ms=at_ms)
        found, untold = surveyed.pins, surveyed.untold_said
        if untold is not None:
            printer.note(f"oncelog: {untold}")
        status = Exit.BAD if found else Exit.FINE if untold is None else Exit.REFUSED
        if options.json:
            printer.value([asdict(each) for each in found])
            return status
        if not found:
            where = "everywhere" if untold is None else "wherever it is told"
            printer.note(f"no partition is held: the last stable offset is the high watermark {where}")
            return status
        columns = "partition lso hw hidden pinned owner state kind timeout_in blocks".split()
        printer.rows([_stuck_row(each) for each in found], columns)
        for each in found:
            printer.note(_story(each, at_ms))
        return status

    return watched(options, printer, once)


def _stuck_row(pin: views.Pin) -> dict[str, Any]:
    owner = pin.transactional_id or ("?" if pin.kind == "unknown" else "nobody")
    return {
        "partition": f"{pin.topic}-{pin.partition}",
        "lso": pin.last_stable_offset,
        "hw": pin.high_watermark,
        "hidden": pin.hidden if pin.hidden_records is not None else f"{pin.hidden_offsets} offsets",
        "pinned": age(pin.pinned_ms),
        "owner": owner if pin.producer_id is None else f"{owner} ({pin.producer_id}/{pin.producer_epoch})",
        "state": pin.state or "-",
        "kind": pin.kind,
        "timeout_in": left(pin.time_left_ms),
        "blocks": ", ".join(pin.groups) or "-",
    }


def _story(pin: views.Pin, at_ms: int) -> str:
    where = f"{pin.topic}-{pin.partition}"
    if pin.since_ms is not None:
        where += f" since {iso(pin.since_ms)}"
    if pin.kind == "ending":
        return f"{where}: decided, {pin.frees}"
    if pin.kind == "unknown":
        return f"{where}: {pin.frees}"
    if not pin.from_oncelog:
        who = f"its client: {NEEDS_ONCELOG}"
    elif pin.client_id is None:
        who = "its client is not known"
    else:
        what = "" if pin.software is None else f" ({pin.software})"
        who = f"opened by {pin.client_id}{what} at {pin.address}"
        if pin.last_request is not None:
            who += f", last request {last_request(pin.last_request, pin.from_oncelog)}"
    if pin.partitions is not None:
        who += f", {pin.partitions} partition{'' if pin.partitions == 1 else 's'}"
    if pin.bytes is not None:
        who += f", {amount(pin.bytes)} in this one"
    if pin.kind == "hanging":
        fate = "no coordinator will end it"
    elif pin.time_left_ms is None:
        fate = "it never times out"
    elif pin.time_left_ms < 0:
        fate = f"its timeout is {left(pin.time_left_ms)}: its coordinator has not looked yet, or the clocks differ"
    else:
        fate = f"it is aborted by its timeout in {age(pin.time_left_ms)}, at {iso(at_ms + pin.time_left_ms)}"
    return f"{where}: {who}; {fate}; to do it now: {pin.frees}"


COLUMNS: Final = "time lane what took bytes error more".split()


def trace(options: argparse.Namespace) -> int:
    """Exit code 1 if nothing is known of the id."""
    printer = Printer.of(options)
    if options.record is not None:
        if options.follow:
            raise UsageFault("--follow asks the broker: of a tap's record, follow what `oncelog tap` prints")
        return _traced(options, printer, _recorded(options, printer))
    with connect(options) as cluster:
        door = SideDoor(cluster)
        if not options.follow:
            told = tracing.tell(cluster, door, options.transactional_id, last=options.last)
            if told.source == tracing.FROM_LOGS:
                printer.note(
                    "no requests: " + ("the broker kept none of this id" if door.is_there else NEEDS_ONCELOG)
                )
            if told.untold is not None:
                printer.note(f"oncelog: no states and no markers: the state log is not told ({told.untold})")
                status = _traced(options, printer, told.timeline)
                return status if told.timeline.events else Exit.REFUSED
            return _traced(options, printer, told.timeline)
        return _followed(
            printer, lambda after: tracing.requests(cluster, door, options.transactional_id, after)
        )


def _followed(
    printer: Printer,
    ask: Callable[[int], list[tuple[int, Event]] | None],
) -> int:
    """Each request once, when it is answered: those under way are asked for again."""
    after, begin_us = -1, -1
    told: set[int] = set()
    while True:
        found = ask(after)
        if found is None:
            raise UsageFault(f"--follow: {NEEDS_ONCELOG}, with transaction.trace.requests above 0")
        for number, event in found:
            if event.error == UNDER_WAY or number in told:
                continue
            told.add(number)
            begin_us = event.at_us if begin_us < 0 else begin_us
            if printer.as_json:
                printer.value(asdict(event))
            else:
                printer.row(row(event, begin_us))
        printer.flush()
        waiting = [number for number, event in found if event.error == UNDER_WAY]
        after = min(waiting) - 1 if waiting else max((number for number, _ in found), default=after)
        told = {number for number in told if number > after}
        time.sleep(FOLLOW_S)


def _recorded(options: argparse.Namespace, printer: Printer) -> Timeline:
    """What the tap saw, with the states and markers that the cluster's logs hold; alone if no cluster answers."""
    path = Path(options.record)
    try:
        with path.open(encoding="utf-8") as lines:
            events = [from_line(line) for line in lines if line.strip()]
    except OSError as fault:
        raise UsageFault(f"--record: {path}: {fault.strerror}") from None
    except ValueError as fault:
        raise UsageFault(f"--record: {path}: {fault}") from None
    alone = timeline(options.transactional_id, events, last=options.last)
    if not alone.events:
        return alone
    try:
        with connect(options) as cluster:
            door = SideDoor(cluster)
            return tracing.tell(
                cluster, door, options.transactional_id, last=options.last, record=path
            ).timeline
    except ClientFault as fault:
        printer.note(f"oncelog: the requests alone, without states and markers: {fault}")
        return alone


def _traced(options: argparse.Namespace, printer: Printer, found: Timeline) -> int:
    if printer.as_json:
        printer.value([asdict(each) for each in found.events])
    else:
        _print_timeline(printer, found)
    if not found.events:
        printer.note(f"oncelog: nothing is known of transactional id {options.transactional_id!r}")
    return Exit.FINE if found.events else Exit.BAD


def _print_timeline(printer: Printer, found: Timeline) -> None:
    printer.rows([dict(zip(COLUMNS, each, strict=True)) for each in found.text()], COLUMNS)


def abort(options: argparse.Namespace) -> int:
    """Exit code 1 if nothing was aborted; the JSON says why."""
    printer = Printer.of(options)
    with connect(options) as cluster:
        try:
            plan = _plan(cluster, options)
            for each in plan.hidden:
                printer.note(
                    f"{each.topic}-{each.partition}: records of producer {plan.producer_id} from {each.start_offset} "
                    f"on, at most {each.end_offset - each.start_offset}, become invisible for ever"
                )
            untold = views.said_of(plan.untold)
            if untold is not None:
                printer.note(f"what becomes invisible elsewhere is {untold}")
            elif not plan.hidden:
                printer.note("nothing is written in this transaction: nothing becomes invisible")
            if not options.yes and not _confirmed():
                raise aborting.NothingToAbort("nothing was done; --yes aborts without asking")
            aborting.carry_out(cluster, plan)
        except aborting.NothingToAbort as fault:
            printer.note(f"oncelog: {fault}")
            if options.json:
                printer.value({"aborted": False, "reason": str(fault)})
            return Exit.BAD
    done = {"aborted": True, **asdict(plan)}
    if options.json:
        printer.value(done)
    else:
        printer.rows([done], ["transactional_id", "producer_id", "producer_epoch", "aborted"])
    return Exit.FINE


def finish(options: argparse.Namespace) -> int:
    """Exit code 1 if nothing was written; the JSON says why."""
    printer = Printer.of(options)
    with connect(options) as cluster:
        try:
            for each in unfinished.missing(cluster, options.transactional_id):
                verb = "committed" if each.decision.commit else "aborted"
                printer.note(f"{each.where}: {verb}, without a marker from offset {each.start_offset} on")
            if not options.yes and not _confirmed("write these markers?"):
                raise unfinished.NothingToFinish("nothing was done; --yes finishes without asking")
            found = unfinished.finish(cluster, options.transactional_id)
        except unfinished.NothingToFinish as fault:
            printer.note(f"oncelog: {fault}")
            if options.json:
                printer.value({"finished": [], "reason": str(fault)})
            return Exit.BAD
    written = [
        {
            "partition": str(each.where),
            "start_offset": each.start_offset,
            "producer_id": int(each.decision.producer.id),
            "producer_epoch": int(each.decision.producer.epoch),
            "marker": "COMMIT" if each.decision.commit else "ABORT",
        }
        for each in found
    ]
    if options.json:
        printer.value({"finished": written, "reason": None})
    else:
        printer.rows(written, "partition start_offset producer_id producer_epoch marker".split())
    return Exit.FINE


def _plan(cluster: Cluster, options: argparse.Namespace) -> aborting.Plan:
    if options.transactional_id is not None and options.partition is None:
        return aborting.plan_by_id(cluster, options.transactional_id)
    if options.transactional_id is not None or options.partition is None:
        raise UsageFault("wanted either a transactional id or --partition with --start-offset")
    if options.start_offset is None:
        raise UsageFault("--partition needs --start-offset, as `oncelog txn stuck` prints them")
    return aborting.plan_by_offset(cluster, partition_named(options.partition), options.start_offset)


def _confirmed(question: str = "abort it?") -> bool:
    if not sys.stdin.isatty():
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def partition_named(text: str) -> TopicPartition:
    """TOPIC-PARTITION, as we print it."""
    topic, _, number = text.rpartition("-")
    if not topic or not number.isdecimal():
        raise UsageFault(f"wanted TOPIC-PARTITION such as refunds-4, found {text!r}")
    return TopicPartition(topic, int(number))


def replay(options: argparse.Namespace) -> int:
    """Exit code 1 if the log holds nothing of the id."""
    printer = Printer.of(options)
    with connect(options) as cluster:
        try:
            states = replaying.history(cluster, options.transactional_id)
        except RefusedByBroker as fault:
            if fault.error != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            states = []  # no transaction was ever begun here
        found = replaying.transactions(options.transactional_id, states)
        if options.at is not None:
            found = [each for each in found if any(one.offset == options.at for one in each.states)]
        if not found:
            printer.note(f"oncelog: the log holds no transaction of {options.transactional_id!r}")
            if options.json:
                printer.value([])
            return Exit.BAD
        chosen = found if options.all else found[-1:]
        told = [(each, replaying.events(cluster, each)) for each in chosen]
    if options.json:
        printer.value([{**asdict(each), "events": [asdict(one) for one in events]} for each, events in told])
        return Exit.FINE
    for each, events in told:
        end = "" if each.ended_ms is None else f", {age(each.ended_ms - each.began_ms)} long"
        printer.note(
            f"transaction {each.number} of {len(found)} of {each.transactional_id}: {each.outcome}{end}, "
            f"state records {each.states[0].offset} to {each.states[-1].offset}"
        )
        _print_timeline(printer, timeline(each.transactional_id, events))
    return Exit.FINE
