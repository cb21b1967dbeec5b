"""pyarrow, which says nothing about its types, taken as it is in one place: `pa`, `pc`, and names for what they hand out."""

from typing import Any, Final, TypeAlias, cast

import pyarrow  # pyright: ignore[reportMissingTypeStubs]  # it has none
import pyarrow.compute  # pyright: ignore[reportMissingTypeStubs]  # it has none

pa: Final = cast(Any, pyarrow)
pc: Final = cast(Any, pyarrow.compute)

Array: TypeAlias = Any
RecordBatch: TypeAlias = Any
Schema: TypeAlias = Any
Table: TypeAlias = Any
