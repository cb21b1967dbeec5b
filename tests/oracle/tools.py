"""Runs Kafka's own command-line tools from the oracle's jars, against any broker or over any files."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.oracle.jars import LOGGING, classpath
from tests.toolchains import java

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
DUMP_LOG_SEGMENTS = "org.apache.kafka.tools.DumpLogSegments"


class ToolFailed(Exception):
    """A tool ended with another exit code than 0."""


def java_command(*options: str, extra: Sequence[Path] = ()) -> list[str]:
    """`java` with the oracle's class path and logging; a class name and its words follow."""
    return [java(), *options, f"-Dlog4j2.configurationFile={LOGGING}", "-cp", classpath(*extra)]


def run_java(main_class: str, *words: str, extra: Sequence[Path] = (), timeout_s: float = 120) -> str:
    """What a class of the jars printed (stdout and stderr), or ToolFailed with it."""
    done = subprocess.run(
        [
            *java_command("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", extra=extra),
            main_class,
            *words,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode != 0:
        raise ToolFailed(
            f"{main_class} {' '.join(words)} ended with exit code {done.returncode}:\n{done.stdout}"
        )
    return done.stdout


def dump_log(*files: Path | str, options: Sequence[str] = ("--print-data-log",)) -> str:
    """What DumpLogSegments says about segments, indexes and snapshots; its complaints are part of the text.

    Give it files at rest. The active segment of a running Kafka has indexes of 10 MB of zeros, and the tool complains.
    """
    return run_java(DUMP_LOG_SEGMENTS, *options, "--files", ",".join(map(str, files)))


COMPLAINTS = (
    "Mismatches in",
    "Non-consecutive offsets in",
    "not found in",
    "Found out of order timestamp",
    "Found timestamp mismatch",
    "invalid bytes at the end",
    "isvalid: false",
    "Failed to ",
    "Corrupt",
    "Exception",
)


def complaints(dump: str) -> list[str]:
    """The lines of a dump in which something was found wrong. Lines of records (they begin with a bar) are data."""
    lines = [line for line in dump.splitlines() if not line.startswith("|")]
    return [line for line in lines if any(sign in line for sign in COMPLAINTS)]
