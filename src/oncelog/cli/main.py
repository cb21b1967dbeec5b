"""The door of the command line: the parser, and from faults to exit codes. Commands are imported when they are called."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from oncelog.cli.exits import Exit, UsageFault
from oncelog.client.faults import ClientFault, RefusedByBroker, TimedOut, Unreachable, error_name
from oncelog.errors import OncelogError

BOOTSTRAP: Final = "127.0.0.1:9092"
OUTPUTS: Final = ("table", "json", "jsonl")
UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
EXITS: Final = """exit codes: 0 fine, 1 the asked-for condition is bad, 2 usage, 3 cannot reach the broker,
4 refused by the broker (its error name is on stderr and in the JSON), 5 timed out, 130 interrupted"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageFault(f"{message}\n{self.format_usage().rstrip()}")


def build_parser() -> argparse.ArgumentParser:
    """Every command and option; `run` names the function, as module:function."""
    parser = _Parser(
        prog="oncelog", description="A Kafka broker in Python, and tools for any Kafka.", epilog=EXITS
    )
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    _serve(commands.add_parser("serve", help="start a broker"))
    _topics(commands.add_parser("topics", help="list, create, delete and describe topics"))
    _produce(commands.add_parser("produce", help="write lines of text as records"))
    _consume(commands.add_parser("consume", help="read records"))
    _groups(commands.add_parser("groups", help="list, describe and delete consumer groups"))
    _txn(commands.add_parser("txn", help="see transactions, who holds readers back, and abort"))
    _log(commands.add_parser("log", help="what stands in a partition's files"))
    _pipeline(commands.add_parser("pipeline", help="feed, run and prove a Spark pipeline"))
    _tap(commands.add_parser("tap", help="a proxy before any Kafka that records what transactions do"))
    _explain(
        commands.add_parser("explain", help="what an error means, and which of its causes are possible here")
    )
    doctor = commands.add_parser("doctor", help="look a cluster over for what goes wrong with transactions")
    doctor.description = "Exit code 1 if something bad was found."
    _watched_command(doctor, "oncelog.cli.explain:doctor")
    _ui(commands.add_parser("ui", help="the inspector's page, for any Kafka"))
    _sim(commands.add_parser("sim", help="run the simulator: the broker under faults that a seed decides"))
    _bench(commands.add_parser("bench", help="measure what exactly-once costs on this machine"))
    version = commands.add_parser("version", help="print the version")
    version.add_argument("--json", action="store_true", help="print JSON")
    version.set_defaults(run="oncelog.cli.version:version")
    return parser


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Start a broker. Prints one line when it accepts connections; SIGTERM or SIGINT stops it cleanly."
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default=BOOTSTRAP,
        help="default %(default)s; port 0 takes a free one",
    )
    parser.add_argument(
        "--advertise", metavar="HOST:PORT", help="the address that clients are told, if not --listen"
    )
    parser.add_argument(
        "--data-dir", metavar="DIR", required=True, help="where everything is kept; made if missing"
    )
    parser.add_argument("--config", metavar="FILE", help="settings, one name=value a line, by Kafka's names")
    parser.add_argument(
        "--durability",
        choices=("power", "process"),
        help="what an acknowledged record survives; default power",
    )
    parser.add_argument(
        "--auto-create-topics", action="store_true", help="create a topic when a client first names it"
    )
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="one setting; wins over --config"
    )
    parser.add_argument(
        "--ui", metavar="HOST:PORT", help="also serve the inspector's page, for example 127.0.0.1:8080"
    )
    parser.add_argument(
        "--ui-token",
        metavar="TOKEN",
        help="needed if --ui is no loopback address; default: ONCELOG_UI_TOKEN of the environment, else made up",
    )
    parser.add_argument("--ui-token-file", metavar="FILE", help="holds it: options can be read by others")
    _ui_host(parser)
    parser.set_defaults(run="oncelog.cli.serve:serve")


def _topics(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", dest="verb", required=True)
    ls = _watched_command(verbs.add_parser("ls", help="list topics"), "oncelog.cli.topics:ls")
    ls.add_argument("--internal", action="store_true", help="also __consumer_offsets and its like")
    new = _broker_command(verbs.add_parser("new", help="create topics"), "oncelog.cli.topics:new")
    new.add_argument("topic", metavar="TOPIC", nargs="+")
    new.add_argument("--partitions", type=_positive, metavar="N", help="default: the broker's num.partitions")
    new.add_argument(
        "--config", metavar="NAME=VALUE", action="append", default=[], help="a topic setting; may be repeated"
    )
    new.add_argument("--if-not-exists", action="store_true", help="a topic that exists already is fine")
    rm = _broker_command(
        verbs.add_parser("rm", help="delete topics with all their records"), "oncelog.cli.topics:rm"
    )
    rm.add_argument("topic", metavar="TOPIC", nargs="+")
    describe = _watched_command(
        verbs.add_parser("describe", help="partitions, offsets, settings"), "oncelog.cli.topics:describe"
    )
    describe.add_argument("topic", metavar="TOPIC", nargs="+")


def _produce(parser: argparse.ArgumentParser) -> None:
    parser.description = "Write lines as records: one line, one value. Producing is idempotent unless --acks says less than all."
    _broker_command(parser, "oncelog.cli.produce:produce")
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--file", metavar="FILE", help="read lines from here, not from stdin")
    parser.add_argument(
        "--key-separator", metavar="TEXT", help="what stands between key and value; without it keys are null"
    )
    parser.add_argument(
        "--partition", type=_not_negative, metavar="N", help="default: by the key's hash, or spread"
    )
    parser.add_argument("--acks", choices=("all", "1", "0"), default="all", help="default %(default)s")
    parser.add_argument(
        "--codec",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
        default="none",
        help="default %(default)s",
    )


def _consume(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print records as they come, until --max, --to-end, --idle-timeout or an interrupt."
    _broker_command(parser, "oncelog.cli.consume:consume")
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--group", metavar="GROUP", help="share the partitions with this group and commit offsets"
    )
    parser.add_argument(
        "--partition", type=_not_negative, metavar="N", action="append", help="only this one; may be repeated"
    )
    parser.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        default=None,
        type=_start,
        help="earliest, latest or an offset; default latest",
    )
    parser.add_argument("--max", type=_positive, metavar="N", help="stop after so many records")
    parser.add_argument(
        "--to-end", action="store_true", help="stop at what was the end when the command began"
    )
    parser.add_argument(
        "--idle-timeout",
        type=_seconds,
        metavar="SECONDS",
        help="exit with code 5 when nothing came for so long",
    )
    parser.add_argument(
        "--isolation",
        choices=("committed", "uncommitted", "both"),
        default="committed",
        help="default %(default)s; both marks each record C (committed), A (aborted) or ? (undecided)",
    )
    parser.add_argument("--values", action="store_true", help="print only the values, one a line")


def _groups(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", dest="verb", required=True)
    _watched_command(verbs.add_parser("ls", help="list groups"), "oncelog.cli.groups:ls")
    describe = _watched_command(
        verbs.add_parser("describe", help="members, offsets and lag"), "oncelog.cli.groups:describe"
    )
    describe.add_argument("group", metavar="GROUP", nargs="+")
    rm = _broker_command(
        verbs.add_parser("rm", help="delete empty groups with their offsets"), "oncelog.cli.groups:rm"
    )
    rm.add_argument("group", metavar="GROUP", nargs="+")


def _txn(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", dest="verb", required=True)
    ls = _watched_command(verbs.add_parser("ls", help="list transactional ids"), "oncelog.cli.txn:ls")
    ls.add_argument(
        "--state", metavar="STATE", action="append", help="Ongoing, PrepareCommit, ...; may be repeated"
    )
    ls.add_argument(
        "--longer-than", type=_seconds, metavar="SECONDS", help="only transactions this long under way"
    )
    ls.add_argument("--match", metavar="PATTERN", help="transactional ids by a pattern with * and ?")
    show = _watched_command(verbs.add_parser("show", help="one transactional id"), "oncelog.cli.txn:show")
    _transactional_id(show)
    stuck = verbs.add_parser("stuck", help="who holds the last stable offset back, and what frees it")
    stuck.description = "Every partition whose read_committed readers wait: for whom, since when. Exit code 1 if there is one."
    _watched_command(stuck, "oncelog.cli.txn:stuck")
    trace = verbs.add_parser("trace", help="every request of a transactional id, as it was on the wire")
    trace.description = (
        "Requests, states and markers: as an oncelog broker keeps them, or a tap before any other Kafka. "
        "Exit code 1 if nothing is known of the id."
    )
    _broker_command(trace, "oncelog.cli.txn:trace")
    _transactional_id(trace)
    trace.add_argument(
        "--record", metavar="FILE", help="what `oncelog tap --record` wrote, instead of the broker's own"
    )
    trace.add_argument("--last", type=_positive, metavar="N", help="only the last so many transactions")
    trace.add_argument(
        "--follow", action="store_true", help="each request when it is answered, until an interrupt"
    )
    replay = verbs.add_parser(
        "replay", help="rebuild a past transaction from the logs: states, batches, markers"
    )
    _broker_command(replay, "oncelog.cli.txn:replay")
    _transactional_id(replay)
    replay.add_argument("--all", action="store_true", help="all that the log still holds, not only the last")
    replay.add_argument("--at", type=_not_negative, metavar="OFFSET", help="the one with this state record")
    export = verbs.add_parser("export", help="each transaction as a trace of OpenTelemetry")
    export.description = (
        "Send every transaction that ended to a collector, as OTLP over HTTP: a trace each, its requests and markers as spans. "
        "Those that the logs still hold; with --follow those that end from now on."
    )
    _broker_command(export, "oncelog.cli.export:export")
    export.add_argument(
        "--otlp", metavar="URL", required=True, help="a collector, for example http://127.0.0.1:4318"
    )
    export.add_argument("--match", metavar="PATTERN", help="transactional ids by a pattern with * and ?")
    export.add_argument("--follow", action="store_true", help="until an interrupt")
    abort = _broker_command(verbs.add_parser("abort", help="abort a transaction"), "oncelog.cli.txn:abort")
    abort.description = (
        "Says what becomes invisible, asks, and aborts. The owner of the transaction is fenced."
    )
    _transactional_id(abort, needed=False)
    abort.add_argument(
        "--partition", metavar="TOPIC-PARTITION", help="of a hanging transaction, which has no owner"
    )
    abort.add_argument(
        "--start-offset", type=_not_negative, metavar="N", help="the first offset of a hanging transaction"
    )
    abort.add_argument("--yes", action="store_true", help="do not ask")
    finish = _broker_command(
        verbs.add_parser("finish", help="write the markers that a decided transaction lacks"),
        "oncelog.cli.txn:finish",
    )
    finish.description = (
        "Only where the transaction log proves what was decided, and with that decision. The owner of the id is fenced if "
        "its epoch could still be in use. Says what it will write, and asks. Exit code 1 if nothing is missing."
    )
    _transactional_id(finish)
    finish.add_argument("--yes", action="store_true", help="do not ask")


def _transactional_id(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """By its place, or as an option: so kafka-transactions takes it, and so may a name begin with a dash."""
    parser.add_argument("transactional_id", metavar="TRANSACTIONAL_ID", nargs="?")
    parser.add_argument("--transactional-id", dest="named_id", metavar="ID", help="the same as an option")
    parser.add_argument(
        "--transactional-id-json",
        dest="json_id",
        metavar="JSON",
        help="the same as a string of JSON, escapes and all",
    )
    parser.set_defaults(needs_id=needed)


def _log(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", dest="verb", required=True)
    dump = verbs.add_parser("dump", help="segments, indexes and snapshots, ours or Apache Kafka's")
    dump.description = "Batches, markers, index entries and snapshots. Exit code 1 if a batch is damaged."
    dump.add_argument("what", metavar="FILE|DIRECTORY|TOPIC-PARTITION")
    dump.add_argument("--data-dir", metavar="DIR", help="where TOPIC-PARTITION is looked for")
    dump.add_argument(
        "--offset", type=_not_negative, metavar="N", help="only the batch that holds this offset"
    )
    dump.add_argument("--hex", action="store_true", help="every byte with its meaning")
    _output(dump, "oncelog.cli.log:dump_log")


def _tap(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Pass everything on between clients and a Kafka, and show the requests of transactional ids."
    )
    parser.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:9093", help="default %(default)s")
    parser.add_argument(
        "--upstream", metavar="HOST:PORT", required=True, help="a broker; others are found by its answers"
    )
    parser.add_argument(
        "--record", metavar="FILE", help="append every event to this file, one line of JSON each"
    )
    _output(parser, "oncelog.cli.tap:tap")


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "What an error means. With --tid, or where a cluster is named, also what speaks for its causes there."
    )
    _broker_command(parser, "oncelog.cli.explain:explain", bootstrap=None, otherwise=BOOTSTRAP)
    parser.set_defaults(otherwise=BOOTSTRAP)
    parser.add_argument("error", metavar="ERROR", help="PRODUCER_FENCED, ProducerFencedException or 90")
    parser.add_argument(
        "--tid", "--transactional-id", metavar="ID", help="weigh the causes for this transactional id"
    )


def _ui(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Serve the page until SIGINT or SIGTERM. Prints its address and the token that aborts need."
    )
    _broker_command(parser, "oncelog.cli.ui:ui")
    parser.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", help="default %(default)s")
    parser.add_argument(
        "--token",
        metavar="TOKEN",
        help="needed for addresses that are not loopback; default: ONCELOG_UI_TOKEN of the environment, else made up",
    )
    parser.add_argument("--token-file", metavar="FILE", help="holds it: options can be read by others")
    _ui_host(parser)
    parser.add_argument(
        "--record", metavar="FILE", help="what `oncelog tap --record` writes: gives lanes on any Kafka"
    )
    parser.add_argument(
        "--results", metavar="DIR|FILE", help="what `oncelog bench eos --out` wrote: the Cost screen"
    )


def _ui_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ui-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name that the page is called by, for example https://inspector.example.org of a proxy; may be repeated; needs a token",
    )


REDRAW = "measure nothing: tables and charts once more, from the raw files in --out"


def _bench(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="WHAT", dest="verb", required=True)
    eos = verbs.add_parser(
        "eos", help="transactions, produce, fetch, latency; needs a C compiler for its load generator"
    )
    eos.add_argument(
        "--against", metavar="kafka|HOST:PORT", help="also Apache Kafka (in a checkout), or one that runs"
    )
    eos.add_argument(
        "--quick", action="store_true", help="one round of 1 s a cell: a look, not a measurement"
    )
    eos.add_argument("--rounds", type=_positive, default=5, metavar="N", help="default %(default)s")
    eos.add_argument(
        "--seconds",
        type=_seconds,
        default=3.0,
        metavar="S",
        help="of each cell and side; default %(default)s",
    )
    eos.add_argument(
        "--durability", choices=("process", "power"), default="process", help="default %(default)s"
    )
    eos.add_argument("--only", metavar="TEXT", help="only the cells whose name holds this")
    eos.add_argument("--out", metavar="DIR", help="write eos.json, eos.md and eos.svg there")
    eos.add_argument("--json", action="store_true", help="print JSON")
    eos.add_argument("--redraw", action="store_true", help=REDRAW)
    eos.set_defaults(run="oncelog.cli.bench:bench_eos")
    spark = verbs.add_parser(
        "spark", help="the Spark source and sink beside Spark's own Kafka connector; in a checkout only"
    )
    spark.add_argument("--rounds", type=_positive, default=5, metavar="N", help="default %(default)s")
    spark.add_argument(
        "--scale", type=float, default=1.0, metavar="X", help="share of the full amount of records"
    )
    spark.add_argument(
        "--only", metavar="KIND", nargs="+", help="only these kinds of runs, of those in docs/spark.md"
    )
    spark.add_argument("--out", metavar="DIR", default="bench/results", help="default %(default)s")
    spark.add_argument("--redraw", action="store_true", help=REDRAW)
    spark.set_defaults(run="oncelog.cli.bench:bench_spark")


def _watched_command(parser: argparse.ArgumentParser, run: str) -> argparse.ArgumentParser:
    parser.add_argument(
        "--watch", type=_seconds, metavar="SECONDS", help="again and again, until an interrupt"
    )
    return _broker_command(parser, run)


def _pipeline(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run one of the shipped Spark pipelines under supervision: it is restarted after a failure or a kill. Without a "
        "broker's address it gets one inside this process, rows to work on (--feed), and is proved (--check) when they are done."
    )
    _broker_command(parser, "oncelog.cli.pipeline:pipeline", bootstrap=None)
    parser.add_argument("name", metavar="NAME", nargs="?", help="which one; --list shows all")
    parser.add_argument("--list", action="store_true", help="list the pipelines with their topics")
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="Spark's checkpoint; a restart goes on from it; needed with --bootstrap",
    )
    parser.add_argument(
        "--transactional-id",
        metavar="ID",
        help="also the group of its source offsets; default pipeline-NAME",
    )
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--once", action="store_true", help="end when all that was there at the start is done")
    ends.add_argument(
        "--for", dest="run_for", type=_seconds, metavar="SECONDS", help="end after so long; default: never"
    )
    ends.add_argument("--no-run", action="store_true", help="only --feed or --check")
    parser.add_argument("--feed", action="store_true", help="write --rows invented rows to its source first")
    parser.add_argument("--rows", type=_positive, default=10_000, metavar="N", help="default %(default)s")
    parser.add_argument(
        "--rate", type=_seconds, metavar="N", help="feed so many rows a second while it runs, not all before"
    )
    parser.add_argument("--seed", type=_not_negative, default=1, metavar="N", help="of the invented rows")
    parser.add_argument(
        "--check", action="store_true", help="count in the end; exit code 1 if the proof fails"
    )
    parser.add_argument(
        "--running",
        action="store_true",
        help="with --no-run --check: it runs elsewhere, so rows that it has yet to read are no fault",
    )
    parser.add_argument(
        "--rows-per-batch",
        type=_positive,
        default=2_000,
        metavar="N",
        help="limit of a micro-batch; default %(default)s",
    )
    parser.add_argument("--master", default="local[*]", help="where Spark runs; default %(default)s")
    parser.add_argument(
        "--conf",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of Spark; may be repeated",
    )


def _sim(parser: argparse.ArgumentParser) -> None:
    parser.description = "Run the broker on a virtual clock, disk and network under faults. The same seed gives the same run, bit for bit."
    parser.add_argument("seed", metavar="SEED", nargs="?", type=_not_negative, help="one seed, told in full")
    parser.add_argument("--seeds", metavar="A..B", type=_seeds, help="all seeds from A to B")
    parser.add_argument(
        "--profile",
        choices=("core", "wire"),
        default="core",
        help="core: decoded requests to the handlers; wire: bytes in, bytes out; default %(default)s",
    )
    parser.add_argument("--trace", action="store_true", help="print all that clients asked and were told")
    parser.add_argument("--jobs", type=_positive, default=1, metavar="N", help="processes; default 1")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run="oncelog.cli.sim:sim")


def _broker_command(
    parser: argparse.ArgumentParser,
    run: str,
    *,
    bootstrap: str | None = BOOTSTRAP,
    otherwise: str = "a broker of our own",
) -> argparse.ArgumentParser:
    """What all commands that talk to a broker have in common. `otherwise`: what is taken where none is named."""
    parser.add_argument(
        "--bootstrap",
        "--bootstrap-server",
        metavar="HOST:PORT",
        default=os.environ.get("ONCELOG_BOOTSTRAP", bootstrap),
        help=f"a broker of the cluster; default $ONCELOG_BOOTSTRAP or {bootstrap or otherwise}",
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="for each answer; default 30"
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="TLS and SASL: security.protocol=... and so on, as Kafka's tools",
    )
    return _output(parser, run)


def _output(parser: argparse.ArgumentParser, run: str) -> argparse.ArgumentParser:
    """How the answer is printed: decided in `main`, where the environment is asked too."""
    parser.add_argument(
        "-o",
        "--output",
        choices=OUTPUTS,
        help="default $ONCELOG_OUTPUT or table; jsonl is one line of JSON a row",
    )
    parser.add_argument("--json", action="store_true", help="the same as --output json")
    parser.set_defaults(run=run)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"wanted a whole number of 1 or more, found {text!r}")
    return int(text)


def _not_negative(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"wanted a whole number of 0 or more, found {text!r}")
    return int(text)


def _seeds(text: str) -> tuple[int, int]:
    first, dots, last = text.partition("..")
    if not dots or not first.isdecimal() or not last.isdecimal() or int(first) > int(last):
        raise argparse.ArgumentTypeError(f"wanted two seeds as A..B, found {text!r}")
    return int(first), int(last)


def _seconds(text: str) -> float:
    """A number of seconds, or of what its unit says: 30, 30s, 500ms, 5m, 1h."""
    unit = next((each for each in UNITS if text.endswith(each)), "")
    try:
        seconds = float(text.removesuffix(unit)) * UNITS.get(unit, 1.0)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < 1e9:  # also refuses nan and inf
        raise argparse.ArgumentTypeError(f"wanted a number of seconds above 0, found {text!r}")
    return seconds


def _start(text: str) -> str | int:
    if text in ("earliest", "latest"):
        return text
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"wanted earliest, latest or an offset, found {text!r}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns what the process exits with."""
    options = argparse.Namespace(json=False)
    try:
        build_parser().parse_args(argv, namespace=options)
        _choose_output(options)
        _choose_id(options)
        module, _, function = options.run.partition(":")
        run: Callable[[Any], int] = getattr(importlib.import_module(module), function)
        status = run(options)
        sys.stdout.flush()
        return status
    except SystemExit as stop:  # --help
        return int(stop.code or 0)
    except UsageFault as fault:
        return _complain(options, Exit.USAGE, str(fault))
    except RefusedByBroker as fault:
        return _complain(options, Exit.REFUSED, str(fault), error_name(fault.error), fault.error)
    except TimedOut as fault:
        return _complain(options, Exit.TIMED_OUT, str(fault))
    except Unreachable as fault:
        return _complain(options, Exit.UNREACHABLE, str(fault))
    except ClientFault as fault:
        return _complain(options, Exit.REFUSED, str(fault))
    except OncelogError as fault:
        return _complain(options, Exit.BAD, str(fault))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except (
        BrokenPipeError
    ):  # whoever read our output left; not our fault, but stdout must not complain at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FINE


def _choose_output(options: argparse.Namespace) -> None:
    """--output, --json, then the environment."""
    if "output" not in options:  # of commands that print something else
        options.output = "json" if options.json else "table"
        return
    if options.output is None:
        given = os.environ.get("ONCELOG_OUTPUT", "table")
        if given not in OUTPUTS:
            raise UsageFault(f"ONCELOG_OUTPUT: wanted {', '.join(OUTPUTS)}, found {given!r}")
        options.output = "json" if options.json else given
    options.json = options.output != "table"


def _choose_id(options: argparse.Namespace) -> None:
    """One transactional id, given in either way."""
    if "named_id" not in options:
        return
    named = (options.transactional_id, options.named_id, _of_json(options.json_id))
    given = [each for each in named if each is not None]
    if len(given) > 1 or (options.needs_id and not given):
        raise UsageFault(f"wanted one transactional id, found {len(given)}")
    options.transactional_id = given[0] if given else None


def _of_json(text: str | None) -> str | None:
    """A name that no terminal shows and no shell can spell, as `oncelog txn stuck` prints it."""
    if text is None:
        return None
    import json

    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, str):
        raise UsageFault(f"--transactional-id-json: wanted a string of JSON, found {text!r}")
    return found


def _complain(
    options: Any, status: Exit, message: str, name: str | None = None, code: int | None = None
) -> int:
    from oncelog.cli.output import Printer

    printer = Printer(as_json=options.json)  # an error is one document, however rows are printed
    for line in message.splitlines():
        printer.note(line if line.startswith("usage:") else f"oncelog: {line}")
    if options.json:
        printer.value({"error": {"exit": int(status), "name": name, "code": code, "message": message}})
    return status


if __name__ == "__main__":
    sys.exit(main())
