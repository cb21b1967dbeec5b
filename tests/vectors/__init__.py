"""The conformance vectors of spec 08, each a test named by its id, played on oncelog and, with ORACLE=1, on Apache Kafka."""
