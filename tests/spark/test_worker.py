"""What a task does for the worker that runs it: nothing that is loaded is lost, and the tidying after it has little to look at."""

import subprocess
import sys
import zipfile
from pathlib import Path

PROGRAM = """
import gc, sys
from oncelog.spark.worker import settle

sys.path.insert(0, sys.argv[1])
import of_spark
cache = sys.path_importer_cache
assert sys.argv[1] in cache
settle()
kept = gc.get_freeze_count()
assert kept > 1000, kept
assert sys.argv[1] not in cache
left = [[] for _ in range(5000)]
settle()
assert gc.get_freeze_count() <= kept, "frozen again: what a task leaves behind would stay for ever"
import of_spark_too
settle()
assert gc.get_freeze_count() > kept + 5000, "what was loaded since is walked over after every task"
print(of_spark.NAME, of_spark_too.NAME)
"""


def test_what_is_loaded_is_out_of_the_collector_s_sight_and_zips_can_be_imported_from_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pyspark.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("of_spark.py", "NAME = 'first'")
        file.writestr("of_spark_too.py", "NAME = 'second'")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("first second\n", "")
