"""The data source that Spark knows as `oncelog`: from options to readers and writers. Decides nothing itself."""

from collections.abc import Mapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from oncelog.spark.source import OncelogReader, OncelogStreamReader, columns_of, source_schema
from oncelog.spark.source_options import Kind, parse_options


class OncelogDataSource(DataSource):
    """`spark.read.format("oncelog")`, and the same for readStream, write and writeStream."""

    @classmethod
    def name(cls) -> str:
        return "oncelog"

    def schema(self) -> StructType:
        """Asked for at `load()`: options that can never be right are refused here, before a query is built on them."""
        return source_schema(parse_options(self._given(), Kind.EITHER).include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        options = parse_options(self._given(), Kind.BATCH)
        return OncelogReader(options, columns_of(schema, options.include_headers))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # pyspark's name
        options = parse_options(self._given(), Kind.STREAM)
        return OncelogStreamReader(options, columns_of(schema, options.include_headers))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from oncelog.spark.sink import batch_writer

        return batch_writer(self._given(), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802  # pyspark's name
        from oncelog.spark.sink import stream_writer

        return stream_writer(self._given(), schema, overwrite)

    def _given(self) -> Mapping[str, str]:
        return dict(self.options)
