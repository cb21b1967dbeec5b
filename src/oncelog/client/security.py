"""TLS and SASL of a client, from Kafka's option names: a plain value that may be pickled and never shows a password."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class SecurityProtocol(Enum):
    """Kafka's `security.protocol`."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


@dataclass(frozen=True, slots=True)
class Security:
    """How connections are protected. `Cluster(..., security=...)`; the default is PLAINTEXT."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    ca_location: str | None = None  # PEM file; None: the system's authorities
    certificate_location: str | None = None  # PEM file, for clients that must show a certificate
    key_location: str | None = None  # PEM file; None: in the certificate's file
    key_password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    mechanism: str | None = None  # PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> "Security":
        """From Kafka's and librdkafka's names, without a `kafka.` in front: `security.protocol`, `ssl.ca.location` or
        `ssl.truststore.location` (PEM), `ssl.certificate.location` or `ssl.keystore.location` (PEM), `ssl.key.location`,
        `ssl.key.password`, `ssl.endpoint.identification.algorithm` (https, or empty or none), `sasl.mechanism`
        (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), `sasl.username`, `sasl.password`, or both of `sasl.jaas.config`.

        Names that do not concern security are passed over. ValueError: what was wanted and found, without secrets.
        """
        raise NotImplementedError
