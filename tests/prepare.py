"""`python -m tests.prepare` fetches and builds what tests with foreign clients need, so that no test waits for a download."""

import sys
from collections.abc import Callable
from typing import Final

from tests.conformance.kinds import KINDS
from tests.conformance.suites import franz_go, kafka_python
from tests.conformance.transactional import CLIENTS, java_class
from tests.oracle import fetch
from tests.toolchains import Missing

STEPS: Final[dict[str, Callable[[], object]]] = {
    "Apache Kafka's jars": fetch,
    **{f"the {kind.name} client": kind.command for kind in KINDS},
    **{f"transactions of the {client.name} client": client.kind.command for client in CLIENTS},
    "a word count with Kafka Streams": lambda: java_class("WordCount"),
    "franz-go's own tests": franz_go.binary,
    "kafka-python's own tests": kafka_python.source,
}


def main() -> None:
    for what, make in STEPS.items():
        try:
            make()
        except Missing as why:
            sys.stderr.write(f"left out: {what} ({why})\n")


if __name__ == "__main__":
    main()
