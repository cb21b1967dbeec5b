"""Which software a client says it is: noted once for each client, within bounds."""

from oncelog.broker.context import Context
from oncelog.broker.software import EACH, KEPT, LONGEST, ClientSoftware


def of(client_id: str | None, host: str = "192.0.2.1") -> Context:
    return Context(18, 3, client_id, host, 50_000, 1, 3)


def test_the_last_thing_said_stands_last_and_nothing_twice() -> None:
    noted = ClientSoftware()
    for name, version in (("librdkafka", "2.1"), ("librdkafka", "2.3"), ("librdkafka", "2.1")):
        noted.note(of("till-1"), name, version)
        noted.note(of("till-1"), name, version)
    noted.note(of(None), "franz-go", "1.20")
    noted.note(of("till-1", "192.0.2.2"), "apache-kafka-java", "4.3.1")
    assert noted.all() == [
        (None, "192.0.2.1", "franz-go", "1.20"),
        ("till-1", "192.0.2.1", "librdkafka", "2.3"),
        ("till-1", "192.0.2.1", "librdkafka", "2.1"),
        ("till-1", "192.0.2.2", "apache-kafka-java", "4.3.1"),
    ]


def test_it_does_not_grow_for_ever() -> None:
    noted = ClientSoftware()
    for number in range(2 * KEPT):
        noted.note(of(f"client-{number}"), "librdkafka", "2.1")
    for number in range(2 * EACH):
        noted.note(of("client-0"), "librdkafka", f"3.{number}")
    noted.note(of("client-1"), "x" * (LONGEST + 1), "1")
    noted.note(of("client-1"), "x", "1" * (LONGEST + 1))
    found = noted.all()
    assert len({(client_id, host) for client_id, host, _, _ in found}) == KEPT
    assert [version for client_id, _, _, version in found if client_id == "client-0"] == [
        f"3.{number}" for number in range(EACH, 2 * EACH)
    ]
    assert [each[2:] for each in found if each[0] == "client-1"] == [("librdkafka", "2.1")]
