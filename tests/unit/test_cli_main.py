"""The command line's doors: options, exit codes, start-up, and each command against a scripted broker."""

import argparse
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.cli.main import build_parser, main
from oncelog.cli.serve import settings_of
from oncelog.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.unit.scripted_broker import Hang, ScriptedBroker

CREATE_TOPICS = 19
LIST_OFFSETS = 2


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker({"orders": 2}) as scripted:
        yield scripted


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


USAGE = """
# arguments                                     said
  topics ls --bootstrap a:b                   | --bootstrap: wanted HOST:PORT, found 'a:b'
  topics                                      | the following arguments are required: VERB
  nonsense                                    | invalid choice: 'nonsense'
  topics new t --partitions 0                 | wanted a whole number of 1 or more, found '0'
  topics new t --config x                     | --config: wanted NAME=VALUE, found 'x'
  topics ls --timeout nan                     | wanted a number of seconds above 0, found 'nan'
  consume t --from 3.5                        | wanted earliest, latest or an offset, found '3.5'
  consume t --group g --from 3                | --from OFFSET makes no sense with --group
  consume t --group g --partition 1           | --partition makes no sense with --group
  consume t --group g --isolation both        | --isolation both makes no sense with --group
  produce t --file /no/such/file              | --file /no/such/file: No such file or directory
  produce t --acks 2                          | argument --acks: invalid choice: '2'
  serve --data-dir d --listen here            | --listen: wanted HOST:PORT, found 'here'
  serve --data-dir d --set x=1                | --set x=1: unknown setting 'x'
  serve --data-dir d --durability none        | argument --durability: invalid choice: 'none'
  serve                                       | the following arguments are required: --data-dir
"""


@pytest.mark.parametrize("line", [line for line in USAGE.splitlines() if line and line[0] != "#"])
def test_usage_exits_2_and_says_what_was_wanted(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, _, said = line.partition("|")
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert said.strip() in captured.err
    assert captured.out == ""


def test_nobody_there_exits_3(capsys: pytest.CaptureFixture[str]) -> None:
    port = closed_port()
    assert main(["topics", "ls", "--bootstrap", f"127.0.0.1:{port}", "--json"]) == 3
    captured = capsys.readouterr()
    assert captured.err == f"oncelog: connect: broker 127.0.0.1:{port}: Connection refused\n"
    assert json.loads(captured.out)["error"]["exit"] == 3


def test_a_refusal_exits_4_with_the_error_name_on_stderr_and_in_json(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = CreatableTopicResult(name="orders", error_code=36, error_message="there \x1b[1malready")
    broker.answers[CREATE_TOPICS] = lambda _, __: CreateTopicsResponse(topics=[refusal])
    assert main(["topics", "new", "orders", "--bootstrap", broker.bootstrap]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("answered TOPIC_ALREADY_EXISTS (there \\x1b[1malready)\n")
    assert main(["topics", "new", "orders", "--bootstrap-server", broker.bootstrap, "--json"]) == 4
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["name"], error["code"]) == ("TOPIC_ALREADY_EXISTS", 36)
    assert main(["topics", "new", "orders", "--bootstrap", broker.bootstrap, "--if-not-exists"]) == 0


def test_silence_exits_5(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    def hang(_: Any, __: int) -> CreateTopicsResponse:
        raise Hang

    broker.answers[CREATE_TOPICS] = hang
    assert main(["topics", "new", "orders", "--bootstrap", broker.bootstrap, "--timeout", "0.1"]) == 5
    assert "CreateTopics v7: no answer of broker" in capsys.readouterr().err


def test_an_interrupt_exits_130(broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("oncelog.cli.topics.ls", interrupt)
    assert main(["topics", "ls", "--bootstrap", broker.bootstrap]) == 130


def test_topics_ls_as_tsv_and_json(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "ls", "--bootstrap", broker.bootstrap]) == 0
    assert capsys.readouterr().out == "TOPIC\tPARTITIONS\tINTERNAL\norders\t2\tno\n"
    assert main(["topics", "ls", "--bootstrap", broker.bootstrap, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"topic": "orders", "partitions": 2, "internal": False}]


def test_the_bootstrap_address_may_come_from_the_environment(
    broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONCELOG_BOOTSTRAP", broker.bootstrap)
    assert main(["topics", "ls"]) == 0
    assert "orders" in capsys.readouterr().out


def test_consume_refuses_a_partition_that_is_not_there(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consume", "orders", "--partition", "7", "--bootstrap", broker.bootstrap]) == 2
    assert "--partition 7: orders has partitions 0 to 1" in capsys.readouterr().err


def test_consume_of_an_empty_topic_ends_at_its_end(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    def at_zero(request: Any, _: int) -> ListOffsetsResponse:
        topics = [
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=each.partition_index, offset=0)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=topics)

    broker.answers[LIST_OFFSETS] = at_zero
    assert main(["consume", "orders", "--to-end", "--values", "--bootstrap", broker.bootstrap]) == 0
    assert capsys.readouterr().out == ""


def test_produce_names_the_line_without_a_key(
    broker: ScriptedBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "lines"
    file.write_text("no key here\n")
    command = [
        "produce",
        "orders",
        "--file",
        str(file),
        "--key-separator",
        ":",
        "--bootstrap",
        broker.bootstrap,
    ]
    assert main(command) == 2
    assert f"{file}, line 1: wanted KEY:VALUE, found no ':'" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"oncelog {oncelog.__version__}\n"


SETTINGS = """
# options                                                     durability  num.partitions  auto.create.topics.enable
  -                                                           power       -               -
  --durability process                                        process     -               -
  --config FILE                                               process     3               -
  --config FILE --durability power                            power       3               -
  --config FILE --set num.partitions=5                        process     5               -
  --set durability=process --durability power                 process     -               -
  --auto-create-topics                                        power       -               true
"""


@pytest.mark.parametrize("line", [line.split() for line in SETTINGS.splitlines() if line and line[0] != "#"])
def test_the_later_setting_wins(line: list[str], tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\ndurability=process\n")
    *options, durability, partitions, auto_create = line
    given = [str(file) if each == "FILE" else each for each in options if each != "-"]
    found = settings_of(build_parser().parse_args(["serve", "--data-dir", "d", *given]))
    names = ("durability", "num.partitions", "auto.create.topics.enable")
    assert [found.get(name, "-") for name in names] == [durability, partitions, auto_create]


@pytest.mark.parametrize(("given", "wanted"), [((), "auto"), (("--set", "hot.path=python"), "python")])
def test_serve_takes_the_express_lane_where_it_can_be_had(given: tuple[str, ...], wanted: str) -> None:
    assert settings_of(build_parser().parse_args(["serve", "--data-dir", "d", *given]))["hot.path"] == wanted


def test_help_starts_without_the_heavy_parts() -> None:
    """`oncelog --help` has 150 ms; what it must not import is what would cost them."""
    program = (
        "import sys\n"
        "from oncelog.cli.main import main\n"
        "status = main(['--help'])\n"
        "heavy = {'asyncio', 'socket', 'logging', 'json', 'oncelog.protocol.apis', 'oncelog.server.main', 'cramjam'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: oncelog")
    assert "exit codes: 0 fine" in done.stdout
    assert done.stderr == "HEAVY []\n"


def test_a_reader_that_leaves_early_is_no_error(broker: ScriptedBroker) -> None:
    command = [sys.executable, "-m", "oncelog.cli.main", "topics", "ls", "--bootstrap", broker.bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        complaint = process.stderr.read()
        assert process.wait(20) == 0
    assert complaint == b""
