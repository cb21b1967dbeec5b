// One transactional producer, one record per transaction, as fast as it can: BOOTSTRAP TRANSACTIONAL-ID TOPIC COUNT.
// The first error ends it: a producer that is fenced or waits too long has no second try.

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Rollover {
    private static final long LIMIT_S = 20;

    public static void main(String[] words) {
        int count = Integer.parseInt(words[3]);
        int committed = 0;
        long slowest = 0;
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", words[0],
                "transactional.id", words[1],
                "max.block.ms", TimeUnit.SECONDS.toMillis(LIMIT_S),
                "linger.ms", 0,
                "key.serializer", StringSerializer.class,
                "value.serializer", StringSerializer.class);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            producer.initTransactions();
            long begun = System.nanoTime();
            while (committed < count) {
                long before = System.nanoTime();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(words[2], 0, null, String.valueOf(committed)));
                producer.flush(); // see docs/conformance.md: its EndTxn may overtake a record that is not sent yet
                producer.commitTransaction();
                slowest = Math.max(slowest, System.nanoTime() - before);
                committed++;
            }
            long milliseconds = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            System.out.printf(
                    "{\"committed\": %d, \"seconds\": %d.%03d, \"slowest_ms\": %d}%n",
                    committed, milliseconds / 1000, milliseconds % 1000, TimeUnit.NANOSECONDS.toMillis(slowest));
        } catch (RuntimeException failure) {
            System.err.printf("transaction %d: %s, caused by %s%n", committed, failure, failure.getCause());
            System.exit(1);
        }
    }
}
