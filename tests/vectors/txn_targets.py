"""The brokers that transactional vectors are played on: oncelog as it is, oncelog with Kafka's timing, Apache Kafka."""

from tests.conformance.targets import chosen


def targets() -> list[str]:
    """Kafka in the same place as elsewhere, so that pytest starts it once for all vectors."""
    found = chosen()
    return [*found, "prepared"] if "oncelog" in found else found
