"""What exactly-once costs, measured: oncelog and another Kafka in one run, load from outside of both."""
