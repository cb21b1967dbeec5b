"""The brokers of the vectors, for tests that compare with Apache Kafka."""

from tests.vectors.conftest import target

__all__ = ["target"]
