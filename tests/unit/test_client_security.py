"""TLS and SASL: options, the exchanges, and connections to a broker in Python that wants them."""

import base64
import contextlib
import hashlib
import hmac
import pickle
import socket
import ssl
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import AuthenticationFailed, Unreachable
from oncelog.client.sasl import BadServer, exchange
from oncelog.client.security import PLAINTEXT, Security, SecurityProtocol
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from oncelog.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from oncelog.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from oncelog.record.batch import NewRecord, build_batch
from tests.oracle.certificates import Certificates
from tests.toolchains import Missing, leave_out
from tests.unit.scripted_broker import ScriptedBroker

SASL_HANDSHAKE, SASL_AUTHENTICATE, PRODUCE = 17, 36, 0
SECRET = "open;sesame"
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
USER = {"sasl.username": "alice", "sasl.password": SECRET}


# Options


def test_no_options_are_plain() -> None:
    assert Security.from_options({"bootstrap.servers": "a:1", "max.poll.records": "5"}) == PLAINTEXT
    assert not PLAINTEXT.uses_tls
    assert not PLAINTEXT.uses_sasl


def test_kafka_s_names_are_understood() -> None:
    found = Security.from_options(
        {
            "security.protocol": "sasl_ssl",
            "ssl.truststore.location": "ca.pem",
            "ssl.truststore.type": "PEM",
            "ssl.keystore.location": "both.pem",
            "ssl.key.password": "k",
            "ssl.endpoint.identification.algorithm": "",
            "sasl.mechanism": "scram-sha-512",
            **USER,
        }
    )
    assert found == Security(
        protocol=SecurityProtocol.SASL_SSL,
        ca_location="ca.pem",
        certificate_location="both.pem",
        key_password="k",
        check_hostname=False,
        mechanism="SCRAM-SHA-512",
        username="alice",
        password=SECRET,
    )
    assert found.uses_tls
    assert found.uses_sasl
    librdkafka = {"ssl.ca.location": "ca", "ssl.certificate.location": "crt", "ssl.key.location": "key"}
    found = Security.from_options({"security.protocol": "SSL", **librdkafka})
    assert (found.ca_location, found.certificate_location, found.key_location) == ("ca", "crt", "key")
    assert Security.from_options({"ssl.ca.pem": "-----"}).ca_pem == "-----"


JAAS_LINES = [
    (f'{JAAS} username="alice" password="{SECRET}";', SECRET),
    (f"{JAAS} required username='alice' password='a \"b\"';", 'a "b"'),
    (f'{JAAS}\n  password="a\\"b\\\\c"\n  username="alice" ;', 'a"b\\c'),
    (f"{JAAS} username=alice password=plain;", "plain"),
]


@pytest.mark.parametrize(("line", "password"), JAAS_LINES)
def test_a_jaas_line_gives_name_and_password(line: str, password: str) -> None:
    found = Security.from_options({**SASL, "sasl.jaas.config": line})
    assert (found.username, found.password) == ("alice", password)


REFUSED = [
    ({"security.protocol": "TLS"}, "wanted one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, found 'TLS'"),
    ({**SASL, **USER, "sasl.mechanism": "GSSAPI"}, "wanted one of PLAIN, .*, found 'GSSAPI'"),
    ({"security.protocol": "SASL_SSL", **USER}, "sasl.mechanism: wanted one of .*, found 'nothing'"),
    ({**SASL, "sasl.password": SECRET}, "sasl.username: wanted for PLAIN"),
    ({**SASL, "sasl.jaas.config": f'{JAAS} username="alice";'}, "sasl.password: wanted for PLAIN"),
    ({"ssl.truststore.type": "JKS"}, "ssl.truststore.type: wanted PEM, found 'JKS'"),
    ({"ssl.endpoint.identification.algorithm": "ldap"}, "wanted https, none or nothing, found 'ldap'"),
]


@pytest.mark.parametrize(("options", "said"), REFUSED)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said) as fault:
        Security.from_options(options)
    assert SECRET not in str(fault.value)


def test_it_may_be_pickled_and_shows_no_secret() -> None:
    found = Security.from_options({**SASL, **USER, "ssl.key.password": "also secret"})
    assert pickle.loads(pickle.dumps(found)) == found
    assert SECRET not in repr(found) + str(found)
    assert "also secret" not in repr(found)
    assert "alice" in repr(found)


def test_a_cluster_is_made_of_options_and_pickled_as_them() -> None:
    options = {"bootstrap.servers": "a:1,b:2", "client.id": "me", "request.timeout.ms": "7", **SASL, **USER}
    made = Cluster.from_options(options, patience_ms=3)
    for cluster in (made, pickle.loads(pickle.dumps(made)), made.copy()):
        assert (cluster.client_id, cluster.timeout_ms, cluster.patience_ms) == ("me", 7, 3)
        assert cluster.security.password == SECRET
        with pytest.raises(Unreachable, match=r"broker a:1.*broker b:2"):
            Cluster.any(_without_waiting(cluster))
    for bad, said in (
        ({"bootstrap.servers": ""}, "bootstrap.servers: wanted HOST:PORT"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms: wanted a number of milliseconds, found 'soon'"),
    ):
        with pytest.raises(ValueError, match=said):
            Cluster.from_options({**options, **bad})


def _without_waiting(cluster: Cluster) -> Cluster:
    cluster.patience_ms = 0
    return cluster


# The exchanges


def test_scram_says_what_rfc_7677_says() -> None:
    """The example of its section 3."""
    said = exchange("SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert next(said) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    both = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    proof = b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert (
        said.send(b"r=" + both + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
        == b"c=biws,r=" + both + b",p=" + proof
    )
    with pytest.raises(StopIteration):
        said.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


BAD_FIRSTS = [
    (b"r=nonce+more,s=W22Z,i=4095", "wanted 4096 to .* iterations, found 4095"),
    (b"r=nonce+more,s=W22Z,i=99999999999", "found 99999999999"),
    (b"r=other+more,s=W22Z,i=4096", "nonce"),
    (b"r=nonce,s=W22Z,i=4096", "nonce"),
    (b"r=nonce+more,i=4096", "wanted r=, s= and i="),
    (b"\xff", "wanted r=, s= and i="),
]


@pytest.mark.parametrize(("first", "said"), BAD_FIRSTS)
def test_a_server_that_plays_foul_gets_no_proof(first: bytes, said: str) -> None:
    with pytest.raises(BadServer, match=said):
        _send(first)


def _send(first: bytes) -> None:
    talk = exchange("SCRAM-SHA-256", "a=b,c", "p", "nonce")
    assert next(talk) == b"n,,n=a=3Db=2Cc,r=nonce"
    talk.send(first)


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    talk = exchange("SCRAM-SHA-512", "u", "p", "nonce")
    next(talk)
    talk.send(b"r=nonce+more,s=W22Z,i=4096")
    with pytest.raises(BadServer, match="did not prove"):
        talk.send(b"v=" + base64.b64encode(bytes(64)))


# Connections


class Guarded(ScriptedBroker):
    """Wants TLS, SASL or both, and answers nothing else before it is satisfied."""

    def __init__(self, tls: ssl.SSLContext | None = None, mechanisms: tuple[str, ...] = ()) -> None:
        super().__init__({"t": 1})
        self._tls = tls
        self.mechanisms = mechanisms
        self.lifetime_ms = 0
        self.logins = 0
        self._user: str | None = None
        self._scram: dict[str, Any] = {}
        self.answers[SASL_HANDSHAKE] = self._handshake
        self.answers[SASL_AUTHENTICATE] = self._authenticate
        self.answers[PRODUCE] = self._produce

    def _serve(self, client: socket.socket) -> None:
        if self._tls is not None:
            try:
                client = self._tls.wrap_socket(client, server_side=True)
            except OSError:
                return
            self._open.append(client)
        super()._serve(client)

    def _answer(self, frame: bytes) -> bytes | bytearray:
        key = int.from_bytes(frame[:2], "big")
        assert key in (18, SASL_HANDSHAKE, SASL_AUTHENTICATE) or self._user or not self.mechanisms
        return super()._answer(frame)

    def _handshake(self, request: SaslHandshakeRequest, _: int) -> SaslHandshakeResponse:
        self._user = None
        self._scram = {"mechanism": request.mechanism}
        known = request.mechanism in self.mechanisms
        return SaslHandshakeResponse(error_code=0 if known else 33, mechanisms=list(self.mechanisms))

    def _authenticate(self, request: SaslAuthenticateRequest, _: int) -> SaslAuthenticateResponse:
        said = bytes(request.auth_bytes)
        if self._scram["mechanism"] == "PLAIN":
            return self._judge(said == f"\0alice\0{SECRET}".encode(), b"")
        return self._scram_step(said)

    def _judge(self, is_right: bool, proof: bytes) -> SaslAuthenticateResponse:
        if not is_right:
            return SaslAuthenticateResponse(error_code=58, error_message="Authentication failed: no")
        self.logins += 1
        self._user = "alice"
        return SaslAuthenticateResponse(auth_bytes=proof, session_lifetime_ms=self.lifetime_ms)

    def _scram_step(self, said: bytes) -> SaslAuthenticateResponse:
        """The server's half of RFC 5802, written down once more."""
        kind = "sha512" if self._scram["mechanism"].endswith("512") else "sha256"
        if "first" not in self._scram:
            bare = said.removeprefix(b"n,,")
            nonce = bare.partition(b",r=")[2] + b"+server"
            answer = b"r=" + nonce + b",s=" + base64.b64encode(b"salt") + b",i=4096"
            self._scram |= {"first": bare, "answer": answer}
            return SaslAuthenticateResponse(auth_bytes=answer)
        final, _, proof = said.partition(b",p=")
        whole = b",".join((self._scram["first"], self._scram["answer"], final))
        salted = hashlib.pbkdf2_hmac(kind, SECRET.encode(), b"salt", 4096)
        key = hmac.digest(salted, b"Client Key", kind)
        stored = hashlib.new(kind, key).digest()
        signature = hmac.digest(stored, whole, kind)
        claimed = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
        server = hmac.digest(hmac.digest(salted, b"Server Key", kind), whole, kind)
        return self._judge(hashlib.new(kind, claimed).digest() == stored, b"v=" + base64.b64encode(server))

    def _produce(self, request: ProduceRequest, _: int) -> ProduceResponse:
        done = [
            PartitionProduceResponse(
                index=0, base_offset=len(request.topic_data[0].partition_data[0].records or b"")
            )
        ]
        return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=done)])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    try:
        return Certificates(tmp_path_factory.mktemp("certificates"))
    except Missing as why:
        leave_out("TLS of the client", why)


def server_tls(files: Certificates, name: str = "server", *, mutual: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[f"{name}.pem"])
    if mutual:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(files.ca)
    return context


@contextlib.contextmanager
def connected(broker: Guarded, **options: str) -> Generator[Cluster]:
    given = {name.replace("_", "."): value for name, value in options.items()}
    with broker, Cluster.from_options({"bootstrap.servers": broker.bootstrap, **given}) as cluster:
        yield cluster


def use(cluster: Cluster) -> None:
    """A blocking connection, and one that never waits, with more than one TLS record."""
    assert [each.name for each in cluster.topics()] == ["t"]
    nobody = Producer(ProducerId(-1), ProducerEpoch(-1))
    with BatchWriter(cluster, None, nobody) as writer:
        for size in (10, 3_000_000):
            batch = build_batch([NewRecord(None, bytes(size), 1)])
            writer.write(TopicPartition("t", 0), batch)
            assert writer.flush() == {TopicPartition("t", 0): [len(batch)]}


def test_tls_with_an_authority_as_file_or_text(files: Certificates) -> None:
    with connected(Guarded(server_tls(files)), security_protocol="SSL", ssl_ca_location=files.ca) as cluster:
        use(cluster)
    text = Path(files.ca).read_text()
    with connected(
        Guarded(server_tls(files)), security_protocol="SSL", ssl_truststore_certificates=text
    ) as cluster:
        use(cluster)


def test_tls_with_a_client_certificate(files: Certificates) -> None:
    mine = {"ssl_certificate_location": files["client.crt"], "ssl_key_location": files["client.key"]}
    locked = files.locked_key("client", SECRET)
    for more in (mine, {**mine, "ssl_key_location": locked, "ssl_key_password": SECRET}):
        with connected(
            Guarded(server_tls(files, mutual=True)),
            security_protocol="SSL",
            ssl_ca_location=files.ca,
            **more,
        ) as cluster:
            use(cluster)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_sasl_without_and_with_tls(files: Certificates, mechanism: str) -> None:
    for protocol, tls in (("SASL_PLAINTEXT", None), ("SASL_SSL", server_tls(files))):
        broker = Guarded(tls, (mechanism,))
        with connected(
            broker,
            security_protocol=protocol,
            ssl_ca_location=files.ca,
            sasl_mechanism=mechanism,
            sasl_username="alice",
            sasl_password=SECRET,
        ) as cluster:
            use(cluster)
        assert broker.logins == 2


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_wrong_credentials_are_told_at_once_and_tried_once(mechanism: str) -> None:
    broker = Guarded(None, (mechanism,))
    with connected(
        broker,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_username="alice",
        sasl_password="not " + SECRET,
    ) as cluster:
        cluster.patience_ms = 60_000
        begun = time.monotonic()
        with pytest.raises(AuthenticationFailed, match=f"SASL {mechanism} as 'alice': .*failed: no") as fault:
            cluster.topics()
        assert time.monotonic() - begun < 10
        assert SECRET not in str(fault.value)
        nobody = Producer(ProducerId(-1), ProducerEpoch(-1))
        writer = BatchWriter(cluster, None, nobody)
        with pytest.raises(AuthenticationFailed):
            writer.write(TopicPartition("t", 0), build_batch([NewRecord(None, b"x", 1)]))
        assert len(broker.requests(SASL_HANDSHAKE)) == 2  # one each


def test_a_mechanism_that_is_not_offered_is_named_with_those_that_are() -> None:
    options = {"sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": SECRET}
    with (
        connected(
            Guarded(None, ("SCRAM-SHA-512", "GSSAPI")), security_protocol="SASL_PLAINTEXT", **options
        ) as cluster,
        pytest.raises(AuthenticationFailed, match="offers GSSAPI, SCRAM-SHA-512, not PLAIN"),
    ):
        cluster.topics()


UNTRUSTED: list[tuple[str, dict[str, str], str]] = [
    ("localhost_only", {}, "its certificate is not to be trusted: .*IP address mismatch"),
    ("server", {"ssl_ca_location": ""}, "its certificate is not to be trusted"),
    ("server", {"ssl_ca_location": "none.pem"}, "ssl.ca.location 'none.pem': No such file"),
    ("server", {"ssl_ca_location": __file__}, "ssl.ca.location .*: wanted PEM that can be read"),
    ("server", {"ssl_certificate_location": __file__}, "ssl.certificate.location .*: wanted PEM"),
]


@pytest.mark.parametrize(("name", "options", "said"), UNTRUSTED)
def test_certificates_that_do_not_fit_are_refused(
    files: Certificates, name: str, options: dict[str, str], said: str
) -> None:
    given = {"security_protocol": "SSL", "ssl_ca_location": files.ca, **options}
    with (
        connected(Guarded(server_tls(files, name)), **given) as cluster,
        pytest.raises(AuthenticationFailed, match=said),
    ):
        cluster.topics()


def test_a_host_s_name_is_not_checked_if_so_wished(files: Certificates) -> None:
    given = {"security_protocol": "SSL", "ssl_ca_location": files.ca}
    with connected(
        Guarded(server_tls(files, "localhost_only")), ssl_endpoint_identification_algorithm="none", **given
    ) as cluster:
        use(cluster)


def test_a_missing_client_certificate_is_a_refusal(files: Certificates) -> None:
    """In TLS 1.3 it comes after the handshake."""
    given = {"security_protocol": "SSL", "ssl_ca_location": files.ca}
    with (
        connected(Guarded(server_tls(files, mutual=True)), **given) as cluster,
        pytest.raises(AuthenticationFailed, match="CERTIFICATE_REQUIRED"),
    ):
        cluster.topics()


def test_a_session_is_renewed_on_the_same_connection() -> None:
    broker = Guarded(None, ("PLAIN",))
    broker.lifetime_ms = 1_000
    options = {"sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": SECRET}
    with connected(broker, security_protocol="SASL_PLAINTEXT", **options) as cluster:
        cluster.topics()
        assert broker.logins == 1
        nobody = Producer(ProducerId(-1), ProducerEpoch(-1))
        with BatchWriter(cluster, None, nobody) as writer:
            batch = build_batch([NewRecord(None, b"x", 1)])
            deadline = time.monotonic() + 1.2
            while time.monotonic() < deadline:
                writer.write(TopicPartition("t", 0), batch)
                writer.flush()
            cluster.topics()
        assert broker.accepted == 2
        assert broker.logins >= 4  # each of the two at least once more
