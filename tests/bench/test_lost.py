"""Every cell that we lose is published with a reason, by its exact name."""

from typing import Any

import pytest

from bench import reasons, spark_report
from oncelog.cost import eos, report
from tools import benchmarks_doc


def known_rows() -> set[tuple[str, str]]:
    """(form, row) of all that `bench eos` measures of ours beside Apache Kafka."""
    found: set[tuple[str, str]] = set()
    for power, forms in ((False, (reasons.NATIVE, reasons.PYTHON)), (True, (reasons.POWER,))):
        for cell in eos.cells(power=power):
            found |= {
                (form, figure.name)
                for figure in cell.figures
                for form in forms
                if cell.python or form != reasons.PYTHON
            }
        found |= {(form, f"resident memory, {when}") for form in forms for when in ("idle", "under load")}
        for row in (eos.DEFAULT_SESSION, eos.ONE_SECOND):
            found.add((forms[0], f"{eos.RECOVERED}, 1 GiB of log{row}"))
    return found


def test_a_reason_is_given_by_the_exact_row_and_form() -> None:
    """Else a row that is called otherwise today would lose its reason in silence."""
    assert set(reasons.REASONS) - known_rows() == set()


@pytest.mark.parametrize("name", ["eos", "eos-power"])
def test_every_lost_cell_of_the_published_files_has_a_reason(name: str) -> None:
    found = benchmarks_doc.read(name)
    assert found is not None
    for form in report.sides_of(found)[0]:
        without = [
            row.figure for row in report.losing(found, form) if (form, row.cell) not in reasons.REASONS
        ]
        assert without == []
    assert reasons.UNKNOWN not in benchmarks_doc.lost(found)


def test_every_lost_cell_of_spark_has_a_reason() -> None:
    found = benchmarks_doc.read("spark")
    assert found is not None
    assert [each.cell for each in spark_report.losing(found) if each.cell not in spark_report.REASONS] == []
    assert reasons.UNKNOWN not in spark_report.lost(found)


def run_of(cell: str, side: str, value: float, unit: str = "txn/s", **more: Any) -> dict[str, Any]:
    return {
        "cell": cell,
        "unit": unit,
        "better": "lower" if unit == "ms" else "higher",
        "at_least": None,
        "side": side,
        "round": 1,
        "value": value,
        "broker_cpu_seconds": 1.0,
        "client_cpu_seconds": 1.0,
        "seconds": 2.0,
        "done": 1000,
        "bytes": 1,
        "other_load": 0.0,
        **more,
    }


def test_a_lost_row_is_told_with_what_was_measured_of_its_reason() -> None:
    cell, late = "transactions of 100 records, 10 producers", "EndTxn, p50 at 50 txn/s, 1 producer"
    runs = [
        run_of(cell, reasons.NATIVE, 200.0),
        run_of(cell, reasons.PYTHON, 50.0, broker_cpu_seconds=1.9),
        run_of(cell, eos.TUNED_NAME, 100.0, broker_cpu_seconds=3.0),
        run_of(late, reasons.NATIVE, 0.5, "ms"),
        run_of(late, reasons.PYTHON, 2.0, "ms"),
        run_of(late, eos.TUNED_NAME, 1.0, "ms"),
        run_of("a row of tomorrow", reasons.PYTHON, 1.0),
        run_of("a row of tomorrow", eos.TUNED_NAME, 2.0),
    ]
    said = benchmarks_doc.lost({"runs": runs, "power": False}).splitlines()
    assert said == [
        f"- python: {cell}, txn/s (0.50x (0.50..0.50) we lose; cores kept busy 0.95, Kafka 1.50). {reasons.ONE_CORE.said()}",
        f"- python: {late}, ms (2.00x (2.00..2.00) we lose; in the lane 0.50 ms). {reasons.COMPLETE.said()}",
        "- python: a row of tomorrow, txn/s (0.50x (0.50..0.50) we lose). No reason is known yet.",
    ]
    assert said[0].count("Reasoning, not measured") == said[1].count("Reasoning, not measured") == 1
