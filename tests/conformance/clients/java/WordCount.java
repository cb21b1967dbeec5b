// A word count with Kafka Streams, exactly_once_v2: BOOTSTRAP APPLICATION INPUT OUTPUT STATE-FOLDER. Runs until it is killed.

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

public final class WordCount {
    public static void main(String[] words) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(words[2], Consumed.with(Serdes.String(), Serdes.String()))
                .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split(" ")))
                .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
                .count(Materialized.as("counts"))
                .toStream()
                .mapValues(String::valueOf)
                .to(words[3], Produced.with(Serdes.String(), Serdes.String()));

        Properties settings = new Properties();
        settings.putAll(Map.of(
                "bootstrap.servers", words[0],
                "application.id", words[1],
                "state.dir", words[4],
                "processing.guarantee", "exactly_once_v2",
                "commit.interval.ms", 1000,
                "num.stream.threads", 1,
                "poll.ms", 20,
                "statestore.cache.max.bytes", 0, // every count is written when it is made, long before its commit
                "replication.factor", 1));
        // A killed instance is noticed soon, and one is not thrown out because the machine is busy.
        settings.putAll(Map.of(
                "consumer.session.timeout.ms", 3000,
                "consumer.heartbeat.interval.ms", 300,
                "consumer.auto.offset.reset", "earliest",
                "producer.linger.ms", 5,
                "producer.transaction.timeout.ms", 10000));

        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> {
            System.out.println(now);
            System.out.flush();
        });
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        while (System.in.read() >= 0) {
            // the test holds the other end; when it is gone there is nothing left to do
        }
        streams.close(Duration.ofSeconds(10));
    }
}
