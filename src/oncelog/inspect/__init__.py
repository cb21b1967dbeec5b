"""The inspector: what transactions did and do, as plain values; for oncelog and for any Kafka."""
