"""A small blocking Kafka client over plain sockets: for our command line, our tests and whoever embeds the broker."""
