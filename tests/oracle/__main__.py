"""`python -m tests.oracle run` keeps an Apache Kafka in the foreground; `fetch` only gets its jars."""

import argparse
import signal
import sys
import threading
from types import FrameType

from tests.oracle.jars import fetch
from tests.oracle.kafka import Oracle


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("what", choices=("run", "fetch"))
    parser.add_argument("--port", type=int, help="of 127.0.0.1; a free one if not given")
    parser.add_argument("--node-id", type=int, default=0)
    parser.add_argument("--heap", default="512m")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a broker property")
    asked = parser.parse_args(words)
    properties: dict[str, str] = {}
    for pair in asked.set:
        name, equals, value = str(pair).partition("=")
        if not equals:
            parser.error(f"--set wants NAME=VALUE, found {pair!r}")
        properties[name] = value
    sys.stdout.write(f"jars in {fetch()}\n")
    if asked.what == "fetch":
        return 0
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    with Oracle(properties, node_id=asked.node_id, heap=asked.heap, port=asked.port) as kafka:
        sys.stdout.write(
            f"Apache Kafka ready on {kafka.bootstrap} (data in {kafka.log_dir}); Ctrl-C stops it\n"
        )
        sys.stdout.flush()
        stop.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
