"""Names without work behind them: the story compresses no batch. For interpreters that have no packages."""

snappy = lz4 = zstd = gzip = None


class DecompressionError(Exception): ...
