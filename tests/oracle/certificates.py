"""Certificates for tests of TLS, made with `openssl` when they are needed: an authority, a server of 127.0.0.1, a client."""

import subprocess
from pathlib import Path

from tests.toolchains import program

SUBJECT_ALT_NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"


class Certificates:
    """PEM files in a folder; for each of `server`, `localhost_only` and `client`: NAME.crt, NAME.key, and both in NAME.pem."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._openssl("req", "-x509", "-new", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=Test CA")
        self.issue("server", SUBJECT_ALT_NAMES)
        self.issue("localhost_only", "subjectAltName=DNS:localhost")
        self.issue("client", "extendedKeyUsage=clientAuth")

    @property
    def ca(self) -> str:
        return str(self.folder / "ca.crt")

    def __getitem__(self, file: str) -> str:
        return str(self.folder / file)

    def stores(self, *listeners: str, name: str = "server") -> dict[str, str]:
        """Settings of Apache Kafka: these listeners show this certificate, and trust what our authority has signed."""
        return {
            f"listener.name.{listener}.ssl.{option}": value
            for listener in listeners
            for option, value in {
                "keystore.type": "PEM",
                "keystore.location": self[f"{name}.pem"],
                "truststore.type": "PEM",
                "truststore.location": self.ca,
            }.items()
        }

    def issue(self, name: str, extension: str) -> None:
        """A key, a certificate of our authority, and both in one file."""
        self._openssl("req", "-new", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.folder / "extension").write_text(extension)
        words = [
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "30",
            "-extfile",
            "extension",
        ]
        self._run("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *words)
        both = (self.folder / f"{name}.key").read_text() + (self.folder / f"{name}.crt").read_text()
        (self.folder / f"{name}.pem").write_text(both)

    def locked_key(self, name: str, password: str) -> str:
        """The same key behind a password."""
        out = f"{name}.locked.key"
        self._run("pkcs8", "-topk8", "-in", f"{name}.key", "-out", out, "-passout", f"pass:{password}")
        return self[out]

    def _openssl(self, *words: str) -> None:
        kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30")
        self._run(*words, *(kind if "-x509" in words else kind[:-2]))

    def _run(self, *words: str) -> None:
        done = subprocess.run(
            [program("openssl"), *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"openssl {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
