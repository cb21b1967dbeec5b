"""The pytest plugin and the KafkaContainer shape, used as their users use them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from oncelog.client.cluster import Cluster
from oncelog.client.producer import Producer
from oncelog.errors import BadConfig
from oncelog.testcontainers import KafkaContainer
from tests.toolchains import ROOT

pytest_plugins = ["pytester"]


def run(pytester: pytest.Pytester, program: str, *arguments: str) -> pytest.RunResult:
    """Runs the program's tests in a pytest of its own that has no plugin but ours."""
    pytester.makepyfile(program)
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("PYTHONPATH", str(ROOT / "src"))
        return pytester.runpytest_subprocess("-p", "oncelog.pytest_plugin", *arguments)


def test_the_plugin_is_what_the_package_announces() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"oncelog": "oncelog.pytest_plugin"}


def test_loading_the_plugin_loads_no_broker() -> None:
    program = (
        "import sys, oncelog.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith('oncelog')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.stdout.strip() == "['oncelog', 'oncelog.pytest_plugin']"


SHARED = """
    import pytest

    ADDRESSES = []

    @pytest.mark.parametrize("number", range(3))
    def test_same_names_do_not_meet(oncelog, number):
        topic = oncelog.topic("orders")
        assert topic == oncelog.name("orders") and topic.endswith("-orders")
        where = oncelog.write(topic, [b"%d" % number])
        assert [(each.partition, each.offset) for each in where] == [(0, 0)]
        assert [each.value for each in oncelog.read(topic)] == [b"%d" % number]
        ADDRESSES.append(oncelog.bootstrap)

    def test_one_broker_served_them_all(oncelog):
        assert set(ADDRESSES) == {oncelog.bootstrap}

    @pytest.mark.oncelog(partitions=3)
    def test_partitions(oncelog):
        topic = oncelog.topic()
        assert [oncelog.write(topic, [b"x"], partition=each)[0].partition for each in range(3)] == [0, 1, 2]
        assert oncelog.bootstrap == ADDRESSES[0]

    @pytest.mark.oncelog(settings={"message.max.bytes": 2000})
    def test_settings_make_another_broker(oncelog):
        assert oncelog.bootstrap != ADDRESSES[0]
        ADDRESSES.append(oncelog.bootstrap)
        with pytest.raises(Exception, match="MESSAGE_TOO_LARGE"):
            oncelog.write(oncelog.topic(), [b"x" * 3000])

    @pytest.mark.oncelog(settings={"message.max.bytes": 2000})
    def test_the_same_settings_share_one(oncelog):
        assert oncelog.bootstrap == ADDRESSES[-1]
"""


def test_the_session_broker_is_shared(pytester: pytest.Pytester) -> None:
    run(pytester, SHARED).assert_outcomes(passed=7)


FRESH = """
    import time

    import pytest

    SEEN = []

    @pytest.mark.parametrize("number", range(2))
    def test_nobody_was_here(oncelog_fresh, number):
        topic = oncelog_fresh.topic("orders")
        assert topic == "orders"
        SEEN.append(oncelog_fresh.broker.data_dir)

    def test_restart_and_kill_keep_what_was_acked(oncelog_fresh):
        topic = oncelog_fresh.topic("orders")
        address = oncelog_fresh.bootstrap
        oncelog_fresh.write(topic, [b"1"])
        oncelog_fresh.restart()
        oncelog_fresh.write(topic, [b"2"])
        oncelog_fresh.kill()
        oncelog_fresh.restart()
        assert [each.value for each in oncelog_fresh.read(topic)] == [b"1", b"2"]
        assert oncelog_fresh.bootstrap == address

    @pytest.mark.oncelog(virtual_clock=True)
    def test_a_week_passes_in_no_time(oncelog_fresh):
        topic = oncelog_fresh.topic("orders")
        oncelog_fresh.write(topic, [b"x"])
        oncelog_fresh.clock.advance(3600)
        assert len(oncelog_fresh.read(topic)) == 1
        oncelog_fresh.clock.advance(8 * 24 * 3600)
        deadline = time.monotonic() + 10
        while oncelog_fresh.read(topic) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert oncelog_fresh.read(topic) == []

    def test_the_machines_clock_cannot_be_moved(oncelog_fresh):
        with pytest.raises(Exception, match="virtual_clock=True"):
            oncelog_fresh.clock.advance(1)

    def test_the_brokers_are_gone():
        import os
        assert len(SEEN) == 2 and not any(os.path.exists(each) for each in SEEN)
"""


def test_fresh_brokers_belong_to_one_test(pytester: pytest.Pytester) -> None:
    run(pytester, FRESH).assert_outcomes(passed=6)


def test_a_marker_with_unknown_words_is_refused(pytester: pytest.Pytester) -> None:
    program = """
    import pytest

    @pytest.mark.oncelog(partition=3)
    def test_it(oncelog):
        pass
    """
    result = run(pytester, program)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*test_it: wanted @pytest.mark.oncelog(partitions=1, settings={}, virtual_clock=False), found (partition=3)*"
        ]
    )


def test_a_setting_that_we_do_not_honour_is_refused_by_name(pytester: pytest.Pytester) -> None:
    program = """
    import pytest

    @pytest.mark.oncelog(settings={"no.such.setting": 1})
    def test_it(oncelog_fresh):
        pass
    """
    result = run(pytester, program)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no.such.setting*"])


def test_suites_without_our_fixtures_start_no_broker(pytester: pytest.Pytester) -> None:
    program = """
    import sys

    def test_it():
        assert "oncelog.embed" not in sys.modules
    """
    run(pytester, program).assert_outcomes(passed=1)


def test_the_marker_is_listed(pytester: pytest.Pytester) -> None:
    result = run(pytester, "", "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.oncelog(partitions=1, settings={}, virtual_clock=False)*"])


def test_a_kafka_container_is_a_broker() -> None:
    with (
        KafkaContainer("confluentinc/cp-kafka:7.6.0")
        .with_kraft()
        .with_env("KAFKA_NUM_PARTITIONS", "3") as kafka
    ):
        address = kafka.get_bootstrap_server()
        assert address == f"{kafka.get_container_host_ip()}:{kafka.get_exposed_port(9093)}"
        with Cluster(address) as cluster, Producer(cluster) as producer:
            producer.send("made-when-first-named", b"x")
            producer.flush()
            assert len(cluster.topic("made-when-first-named").partitions) == 3
    with pytest.raises(RuntimeError, match="the container is not started"):
        kafka.get_bootstrap_server()


def test_a_kafka_container_takes_every_call_of_the_shape() -> None:
    container = KafkaContainer("image", port=9999, some_docker_option=True)
    chained = (
        container.with_cluster_id("x")
        .with_name("kafka")
        .with_exposed_ports(9999)
        .with_bind_ports(9999, 9999)
        .with_network(object())
        .with_network_aliases("kafka")
        .with_kwargs(mem_limit="1g")
        .with_envs(KAFKA_LISTENERS="PLAINTEXT://0.0.0.0:9092", JAVA_HOME="/x")
    )
    assert chained is container
    assert container.start(timeout=5) is container
    try:
        assert container.get_exposed_port(9999) > 0
        with pytest.raises(BadConfig, match="port 1 is not exposed, only 9999"):
            container.get_exposed_port(1)
    finally:
        container.stop(force=True)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("KAFKA_NO_SUCH_SETTING", "1", "with_env KAFKA_NO_SUCH_SETTING: unknown setting 'no.such.setting'"),
        ("KAFKA_NUM_PARTITIONS", "many", "num.partitions"),
    ],
)
def test_a_kafka_container_refuses_what_it_would_ignore(name: str, value: str, said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        KafkaContainer().with_env(name, value)


def test_the_data_of_a_container_goes_with_it() -> None:
    container = KafkaContainer().start()
    broker = container._broker  # pyright: ignore[reportPrivateUsage]  # the shape has no name for the directory
    assert broker is not None
    folder = Path(broker.data_dir)
    assert folder.exists()
    container.stop()
    assert not folder.exists()
