"""Several pipelines in one Spark, one after the other: `python -m tests.pipelines.one_by_one BOOTSTRAP FOLDER ROWS MASTER NAME...`.

Stands in for one driver per pipeline where that would cost a test twice the starts of Spark. A restart passes quickly over those
that are done. Reports like `oncelog.pipelines.run`.
"""

import importlib
import json
import sys

from oncelog.pipelines import PIPELINES, Run
from oncelog.pipelines.run import Leash
from oncelog.spark import session
from tests.pipelines.trial import CONF

LOOK_EVERY_S = 0.2


def main(bootstrap: str, folder: str, rows_per_batch: str, master: str, *names: str) -> None:
    leash = Leash()
    spark = session(master=master, app_name="one by one", **CONF)
    for number, name in enumerate(names):
        chosen = PIPELINES[name]
        module, _, function = chosen.start.partition(":")
        run = Run(bootstrap, f"{folder}/{name}", chosen.transactional_id, True, int(rows_per_batch))
        query = getattr(importlib.import_module(module), function)(spark, run)
        leash.tie(query)
        while not query.awaitTermination(LOOK_EVERY_S):  # raises if it failed
            for each in query.recentProgress:
                print(json.dumps({"batch": 1000 * number + each["batchId"]}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
