"""TLS and SASL of our own client against the listeners of a real Apache Kafka; only with ORACLE=1."""

import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oncelog.client.admin import Admin
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import Reader
from oncelog.client.faults import AuthenticationFailed, Unreachable
from oncelog.client.fetcher import PartitionFetcher
from oncelog.client.producer import Producer as OwnProducer
from oncelog.client.transactional import TransactionalId
from oncelog.model import TopicPartition
from oncelog.record.batch import NewRecord, build_batch
from tests.oracle import Oracle
from tests.oracle.certificates import Certificates
from tests.toolchains import Missing, leave_out

pytestmark = pytest.mark.needs_oracle

LISTENERS = {
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "ELSEWHERE": "SSL",  # its certificate is of another host
    "PLAIN": "SASL_PLAINTEXT",
    "SCRAM": "SASL_SSL",
    "BRIEF": "SASL_SSL",  # sessions of three seconds
}
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PASSWORD = "open;sesame"  # a JAAS line ends with a semicolon, but not with this one


def _settings(files: Certificates) -> dict[str, str]:
    found = files.stores("tls", "mutual", "scram", "brief") | files.stores("elsewhere", name="localhost_only")
    scram = f"{SCRAM_MODULE};"
    return found | {
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plain.plain.sasl.jaas.config": f'{PLAIN_MODULE} user_alice="{PASSWORD}";',
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.scram.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.scram.scram-sha-512.sasl.jaas.config": scram,
        "listener.name.brief.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.brief.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.brief.scram-sha-256.connections.max.reauth.ms": "3000",
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    try:
        return Certificates(tmp_path_factory.mktemp("certificates"))
    except Missing as why:
        leave_out("TLS against Apache Kafka", why)


@pytest.fixture(scope="module")
def kafka(files: Certificates) -> Iterator[Oracle]:
    try:
        with Oracle(_settings(files), listeners=LISTENERS, scram={"alice": PASSWORD}) as found:
            yield found
    except Missing as why:
        leave_out("TLS against Apache Kafka", why)


Connect = Callable[..., Cluster]


@pytest.fixture
def connect(kafka: Oracle, files: Certificates) -> Connect:
    def make(listener: str, **options: str) -> Cluster:
        given = {name.replace("_", "."): value for name, value in options.items()}
        defaults = {
            "bootstrap.servers": kafka.bootstrap_of(listener),
            "security.protocol": LISTENERS[listener],
            "ssl.ca.location": files.ca,
            "sasl.mechanism": "PLAIN" if listener == "PLAIN" else "SCRAM-SHA-256",
            "sasl.username": "alice",
            "sasl.password": PASSWORD,
        }
        return Cluster.from_options({**defaults, **given})

    return make


def _use(cluster: Cluster) -> None:
    """A transaction, its records fetched back: all kinds of connections are opened."""
    name = f"secure-{time.time_ns()}"
    here = TopicPartition(name, 0)
    with pickle.loads(pickle.dumps(cluster)) as again:  # as an executor gets it
        Admin(again).create_topic(name, partitions=1)
        who = TransactionalId(again, name)
        producer = who.init()
        batch = build_batch(
            [NewRecord(None, bytes(1000), int(time.time() * 1000))] * 800,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=0,
            transactional=True,
        )
        with BatchWriter(again, name, producer, protocol=who.protocol) as writer:
            writer.write(here, batch)
        who.end(producer, commit=True)
        found = b"".join(bytes(each.data) for each in PartitionFetcher(again, here, start=0, stop=801))
        assert found[21 : len(batch)] == batch[21:]  # from the checksum on: the broker sets offset and epoch


@pytest.mark.parametrize(
    ("listener", "options"),
    [
        ("TLS", {}),
        ("PLAIN", {}),
        ("SCRAM", {"sasl_mechanism": "SCRAM-SHA-256"}),
        ("SCRAM", {"sasl_mechanism": "SCRAM-SHA-512"}),
        ("ELSEWHERE", {"ssl_endpoint_identification_algorithm": ""}),
    ],
)
def test_each_protocol_and_mechanism(connect: Connect, listener: str, options: dict[str, str]) -> None:
    _use(connect(listener, **options))


def test_a_jaas_line_is_as_good_as_two_options(connect: Connect) -> None:
    line = f'{SCRAM_MODULE} username="alice" password="{PASSWORD}";'
    _use(connect("SCRAM", sasl_jaas_config=line, sasl_username="", sasl_password=""))


def test_a_client_certificate_with_a_locked_key(connect: Connect, files: Certificates) -> None:
    _use(connect("MUTUAL", ssl_keystore_location=files["client.pem"]))
    locked = files.locked_key("client", "open sesame")
    _use(
        connect(
            "MUTUAL",
            ssl_certificate_location=files["client.crt"],
            ssl_key_location=locked,
            ssl_key_password="open sesame",
        )
    )


@pytest.mark.parametrize(
    ("listener", "options", "said"),
    [
        (
            "PLAIN",
            {"sasl_password": "wrong"},
            "SASL PLAIN as 'alice': broker .* Invalid username or password",
        ),
        ("SCRAM", {"sasl_password": "wrong"}, "SASL SCRAM-SHA-256 as 'alice': broker .* invalid credentials"),
        ("SCRAM", {"sasl_username": "nobody"}, "SASL SCRAM-SHA-256 as 'nobody': .* invalid credentials"),
        ("SCRAM", {"sasl_mechanism": "PLAIN"}, "offers SCRAM-SHA-256, SCRAM-SHA-512, not PLAIN"),
        ("ELSEWHERE", {}, "its certificate is not to be trusted: .*IP address mismatch"),
        ("MUTUAL", {}, "TLS: .*CERTIFICATE_REQUIRED|BAD_CERTIFICATE"),
        ("TLS", {"ssl_ca_location": "/no/such/file"}, "ssl.ca.location '/no/such/file': No such file"),
    ],
)
def test_who_is_not_trusted_is_told_so_at_once(
    connect: Connect, listener: str, options: dict[str, str], said: str
) -> None:
    """Not after the patience that a broker which is down would get."""
    settings = connect(listener, **options)
    settings.patience_ms = 60_000
    begun = time.monotonic()
    with settings, pytest.raises(AuthenticationFailed, match=said) as fault:
        Admin(settings).list_topics()
    assert time.monotonic() - begun < 20
    assert "wrong" not in str(fault.value)


def test_an_unknown_authority_is_refused(connect: Connect, tmp_path: Path) -> None:
    other = Certificates(tmp_path)
    with (
        connect("TLS", ssl_ca_location=other.ca) as cluster,
        pytest.raises(AuthenticationFailed, match="not to be trusted"),
    ):
        cluster.topics()


def test_tls_to_a_plain_listener_and_back(kafka: Oracle, connect: Connect) -> None:
    with (
        connect("PLAIN", security_protocol="SASL_SSL") as cluster,
        pytest.raises(Unreachable, match="does it speak TLS"),
    ):
        cluster.topics()
    with Cluster(kafka.bootstrap_of("TLS")) as cluster, pytest.raises(Unreachable, match="does it speak TLS"):
        cluster.topics()


def test_a_session_is_renewed_before_it_ends(connect: Connect) -> None:
    """KIP-368: the broker closes a connection that speaks after the end of its session."""
    name = f"brief-{time.time_ns()}"
    with connect("BRIEF") as cluster:
        admin = Admin(cluster)
        admin.create_topic(name, partitions=1)
        producer = OwnProducer(cluster)
        reader = Reader(cluster)
        reader.assign({TopicPartition(name, 0): "earliest"})
        whom = cluster.leader(TopicPartition(name, 0))
        opened = whom.opened()
        deadline, count, found = time.monotonic() + 7, 0, 0
        while time.monotonic() < deadline:
            producer.send(name, b"x")
            producer.flush()
            count += 1
            found += len(reader.poll(200))
        assert found == count
        assert whom.opened() is opened, "the connection was opened anew"
