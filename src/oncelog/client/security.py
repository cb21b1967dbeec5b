"""TLS and SASL of a client, from Kafka's option names: a plain value that may be pickled and never shows a password."""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from oncelog.client.sasl import MECHANISMS


class SecurityProtocol(Enum):
    """Kafka's `security.protocol`."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


@dataclass(frozen=True, slots=True)
class Security:
    """How connections are protected. `Cluster(..., security=...)`; the default is PLAINTEXT.

    Files are read when a connection is opened, where it is opened: they must be at the same place on every executor.
    """

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    ca_location: str | None = None  # PEM file
    ca_pem: str | None = None  # the same as text; neither: the system's authorities
    certificate_location: str | None = None  # PEM file, for brokers that want to see a certificate
    key_location: str | None = None  # PEM file; None: in the certificate's file
    key_password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    mechanism: str | None = None  # PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def uses_tls(self) -> bool:
        return self.protocol in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        return self.protocol in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> "Security":
        """From Kafka's and librdkafka's names, without a `kafka.` in front: `security.protocol`, `ssl.ca.location` or
        `ssl.truststore.location` (PEM), `ssl.ca.pem` or `ssl.truststore.certificates` (PEM as text),
        `ssl.certificate.location` or `ssl.keystore.location` (PEM), `ssl.key.location`, `ssl.key.password`,
        `ssl.endpoint.identification.algorithm` (https; empty or none does not check the host's name), `sasl.mechanism` (PLAIN,
        SCRAM-SHA-256, SCRAM-SHA-512), `sasl.username` and `sasl.password`, or both inside `sasl.jaas.config`.

        Names that do not concern security are passed over. ValueError: what was wanted and found, without secrets.
        """
        given = {name: value for name, value in options.items() if value is not None}  # pyright: ignore[reportUnnecessaryComparison]  # callers in Spark pass what users wrote
        for name in UNREADABLE:
            found = given.get(name, "PEM")
            if found.upper() != "PEM":
                raise ValueError(
                    f"{name}: wanted PEM, found {found!r} (keytool and openssl turn other stores into PEM)"
                )
        protocol = _protocol(given.get("security.protocol", "PLAINTEXT"))
        mechanism = username = password = None
        if protocol in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL):
            mechanism, username, password = _sasl(given)
        return cls(
            protocol=protocol,
            ca_location=_first(given, "ssl.ca.location", "ssl.truststore.location"),
            ca_pem=_first(given, "ssl.ca.pem", "ssl.truststore.certificates"),
            certificate_location=_first(given, "ssl.certificate.location", "ssl.keystore.location"),
            key_location=_first(given, "ssl.key.location"),
            key_password=_first(given, "ssl.key.password", "ssl.keystore.password"),
            check_hostname=_checks_hostname(given.get("ssl.endpoint.identification.algorithm", "https")),
            mechanism=mechanism,
            username=username,
            password=password,
        )

    def tls(self) -> ssl.SSLContext:
        """A fresh context: files that were renewed on disk are seen by the next connection. ValueError names a bad file."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.check_hostname
        what = "ssl.ca.location"
        try:
            if self.ca_location is None and self.ca_pem is None:
                context.load_default_certs()
            else:
                what = f"ssl.ca.location {self.ca_location!r}" if self.ca_location else "ssl.ca.pem"
                context.load_verify_locations(cafile=self.ca_location, cadata=self.ca_pem)
            if self.certificate_location is not None:
                what = f"ssl.certificate.location {self.certificate_location!r}"
                if self.key_location is not None:
                    what += f", ssl.key.location {self.key_location!r}"
                # Never None: OpenSSL would ask for it on the terminal.
                context.load_cert_chain(
                    self.certificate_location, self.key_location, password=self.key_password or ""
                )
        except ssl.SSLError as fault:
            raise ValueError(f"{what}: wanted PEM that can be read, found {fault.reason or fault}") from None
        except OSError as fault:
            raise ValueError(f"{what}: {fault.strerror or fault}") from None
        return context


PLAINTEXT: Final = Security()
UNREADABLE: Final = ("ssl.truststore.type", "ssl.keystore.type")
_JAAS_PAIR: Final = re.compile(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""")


def _protocol(text: str) -> SecurityProtocol:
    try:
        return SecurityProtocol(text.strip().upper())
    except ValueError:
        known = ", ".join(each.value for each in SecurityProtocol)
        raise ValueError(f"security.protocol: wanted one of {known}, found {text!r}") from None


def _first(options: Mapping[str, str], *names: str) -> str | None:
    return next((options[name] for name in names if options.get(name)), None)


def _checks_hostname(text: str) -> bool:
    if text.strip().lower() not in ("https", "none", ""):
        raise ValueError(
            f"ssl.endpoint.identification.algorithm: wanted https, none or nothing, found {text!r}"
        )
    return text.strip().lower() == "https"


def _sasl(options: Mapping[str, str]) -> tuple[str, str, str]:
    found = _first(options, "sasl.mechanism", "sasl.mechanisms")
    mechanism = (found or "").strip().upper()
    if mechanism not in MECHANISMS:
        raise ValueError(
            f"sasl.mechanism: wanted one of {', '.join(MECHANISMS)}, found {found or 'nothing'!r}"
        )
    jaas = _jaas(options.get("sasl.jaas.config", ""))
    username = options.get("sasl.username") or jaas.get("username")
    password = options.get("sasl.password") or jaas.get("password")
    missing = [name for name, value in (("username", username), ("password", password)) if not value]
    if missing or not username or not password:
        raise ValueError(
            f"sasl.{missing[0]}: wanted for {mechanism}, found neither it nor {missing[0]}=... in sasl.jaas.config"
        )
    return mechanism, username, password


def _jaas(text: str) -> dict[str, str]:
    """The name=value pairs of `Module required username="..." password="...";`."""
    found: dict[str, str] = {}
    for name, value in _JAAS_PAIR.findall(text):
        if value[0] in "\"'":
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        found[name] = value
    return found
