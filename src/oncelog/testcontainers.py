"""A drop-in for testcontainers' KafkaContainer: the same calls, no container, ready in a fraction of a second.

from oncelog.testcontainers import KafkaContainer  # was: from testcontainers.kafka import KafkaContainer
"""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from oncelog.config import BROKER_KEYS
from oncelog.errors import BadConfig

if TYPE_CHECKING:
    from oncelog.embed import Broker

# What describes a container's network, cluster or JVM: it has no meaning here, and nothing is lost without it.
WITHOUT_MEANING: Final = frozenset(
    {
        "KAFKA_ADVERTISED_LISTENERS",
        "KAFKA_BROKER_ID",
        "KAFKA_CONTROLLER_LISTENER_NAMES",
        "KAFKA_CONTROLLER_QUORUM_VOTERS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_INTER_BROKER_LISTENER_NAME",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LISTENERS",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_LOG_DIRS",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR",
        "KAFKA_OPTS",
        "KAFKA_PROCESS_ROLES",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR",
        "KAFKA_ZOOKEEPER_CONNECT",
    }
)


class KafkaContainer:
    """A broker in this process behind testcontainers' interface. Topics are created when first named, as there."""

    def __init__(self, image: str = "", port: int = 9093, **_: Any) -> None:
        self.image = image
        self.port = port
        self._settings = {"auto.create.topics.enable": "true"}
        self._broker: Broker | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, timeout: float = 30) -> Self:  # noqa: ARG002  # the broker is ready when start returns
        from oncelog.embed import Broker

        self._broker = Broker(settings=self._settings).start()
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:  # noqa: ARG002  # there is no container
        """The data goes with the broker."""
        if self._broker is not None:
            self._broker.close()
            self._broker = None

    def get_bootstrap_server(self) -> str:
        return self._running().bootstrap

    def get_container_host_ip(self) -> str:
        return self.get_bootstrap_server().rpartition(":")[0]

    def get_exposed_port(self, port: int) -> int:
        if port != self.port:
            raise BadConfig(f"port {port} is not exposed, only {self.port}")
        return int(self.get_bootstrap_server().rpartition(":")[2])

    def with_env(self, key: str, value: str) -> Self:
        """KAFKA_NUM_PARTITIONS=3 sets num.partitions. A setting that we do not honour is refused by name."""
        if not key.startswith("KAFKA_") or key in WITHOUT_MEANING:
            return self
        name = key.removeprefix("KAFKA_").lower().replace("_", ".")
        if name not in BROKER_KEYS:
            raise BadConfig(f"with_env {key}: unknown setting {name!r}")
        BROKER_KEYS[name].parse(str(value))
        self._settings[name] = str(value)
        return self

    def with_envs(self, **variables: str) -> Self:
        for key, value in variables.items():
            self.with_env(key, value)
        return self

    def with_kraft(self) -> Self:
        return self

    def with_cluster_id(self, cluster_id: str) -> Self:  # noqa: ARG002  # the data directory has its own
        return self

    def with_name(self, name: str) -> Self:  # noqa: ARG002
        return self

    def with_exposed_ports(self, *ports: int) -> Self:  # noqa: ARG002
        return self

    def with_bind_ports(self, container: int, host: int | None = None) -> Self:  # noqa: ARG002
        return self

    def with_network(self, network: object) -> Self:  # noqa: ARG002
        return self

    def with_network_aliases(self, *aliases: str) -> Self:  # noqa: ARG002
        return self

    def with_kwargs(self, **kwargs: object) -> Self:  # noqa: ARG002
        return self

    def _running(self) -> "Broker":
        if self._broker is None:
            raise RuntimeError("the container is not started: use it inside `with`, or call start()")
        return self._broker
