"""Java's properties format, as `--command-config` takes it, and what the commands do with it."""

from pathlib import Path

import pytest

from oncelog.cli.main import main
from oncelog.client.properties import read_client_properties, security_of
from tests.unit.test_client_security import SECRET, Guarded

FILES: list[tuple[str, dict[str, str]]] = [
    ("a=1\nb = 2 \r\n\n  # c=3\n!d=4\ne:5\nf 6\ng", {"a": "1", "b": "2 ", "e": "5", "f": "6", "g": ""}),
    ("a=1\na=2", {"a": "2"}),
    ("jaas=Module required \\\n   user=\"x\" \\\n   password=\"y=z\";", {"jaas": 'Module required user="x" password="y=z";'}),
    ("a=x\\\\\nb=y", {"a": "x\\", "b": "y"}),
    ('a\\=b=c\\"d\\u0041\\t|\\:', {"a=b": 'c"dA\t|:'}),
    ("a=1\\", {"a": "1"}),
    ("", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "settings"), FILES)
def test_a_file_as_java_reads_it(tmp_path: Path, text: str, settings: dict[str, str]) -> None:
    path = tmp_path / "client.properties"
    path.write_bytes(text.encode())
    assert read_client_properties(str(path)) == settings


def test_a_file_that_is_no_good_is_named_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    with pytest.raises(ValueError, match=r"client\.properties: No such file"):
        read_client_properties(str(path))
    path.write_text(f"a=1\n=sasl.password {SECRET}\n")
    with pytest.raises(ValueError, match=r"client\.properties, line 2: wanted name=value$"):
        read_client_properties(str(path))
    path.write_bytes(b"a=\xff")
    with pytest.raises(ValueError, match="not UTF-8 at byte 2"):
        read_client_properties(str(path))


def test_only_what_concerns_security_is_taken() -> None:
    given = {"security.protocol": "SSL", "ssl.ca.location": "ca", "sasl.mechanism": "PLAIN", "acks": "1"}
    assert security_of(given) == {name: value for name, value in given.items() if name != "acks"}


def command_config(folder: Path, password: str, **more: str) -> str:
    path = folder / "client.properties"
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{password}";',
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return str(path)


def test_a_command_reaches_a_broker_that_wants_a_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Guarded(None, ("PLAIN",)) as broker:
        words = ["topics", "ls", "--bootstrap", broker.bootstrap, "--command-config"]
        assert main([*words, command_config(tmp_path, SECRET)]) == 0
        assert capsys.readouterr().out.splitlines()[1].startswith("t\t")
        assert broker.logins == 1
        assert main([*words, command_config(tmp_path, "swordfish")]) == 4
        said = capsys.readouterr().err
        assert "SASL PLAIN as 'alice'" in said
        assert "swordfish" not in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sasl_mechanism": "GSSAPI"}, "sasl.mechanism: wanted one of PLAIN, .*, found 'GSSAPI'"),
        ({"ssl_truststore_type": "JKS"}, "ssl.truststore.type: wanted PEM, found 'JKS'"),
    ],
)
@pytest.mark.parametrize(
    "words", [["topics", "ls"], ["txn", "ls"], ["ui"], ["pipeline", "refunds", "--no-run"]]
)
def test_a_setting_that_cannot_be_meant_is_a_usage_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], more: dict[str, str], said: str
) -> None:
    config = command_config(tmp_path, SECRET, **more)
    assert main([*words, "--bootstrap", "127.0.0.1:1", "--command-config", config]) == 2
    found = capsys.readouterr().err
    assert said.partition(".*")[0] in found
    assert SECRET not in found


def test_a_file_that_is_not_there_is_a_usage_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "ls", "--command-config", "nowhere.properties"]) == 2
    assert "--command-config nowhere.properties: No such file" in capsys.readouterr().err
