"""Both ends of a pipeline in PostgreSQL, exactly once: micro-batches into a table, and an outbox into topics."""
