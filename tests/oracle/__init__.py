"""The oracle: a real Apache Kafka 4.3.1 and its tools, fetched with Maven."""

from tests.oracle.jars import classpath, fetch
from tests.oracle.kafka import Oracle, free_ports
from tests.oracle.tools import ToolFailed, complaints, dump_log, java_command, run_java
from tests.toolchains import java

__all__ = [
    "Oracle",
    "ToolFailed",
    "classpath",
    "complaints",
    "dump_log",
    "fetch",
    "free_ports",
    "java",
    "java_command",
    "run_java",
]
