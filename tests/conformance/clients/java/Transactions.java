// The Java client as a transactional program: a JSON command per line of stdin, a JSON event per line of stdout. The
// commands are those of clients/python/transactional.py.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Transactions {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long LIMIT_S = 20;
    private static final String END = "end";
    private final String bootstrap;
    private KafkaProducer<String, String> producer;
    private KafkaConsumer<String, String> member;

    private Transactions(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] words) throws Exception {
        Transactions client = new Transactions(words[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode command = JSON.readTree(line);
            try {
                say(Map.of("event", "done", "answer", client.obey(command)));
            } catch (Exception failure) {
                say(Map.of("event", "failed", "why", failure + ", caused by " + failure.getCause()));
            }
        }
        if (client.member != null) {
            client.member.close();
        }
        System.exit(0); // a producer that was left behind has nothing to say any more
    }

    private static synchronized void say(Map<String, ?> event) {
        System.out.println(JSON.valueToTree(event).toString());
        System.out.flush();
    }

    private Object obey(JsonNode command) throws Exception {
        switch (command.get("do").asText()) {
            case "open":
                return open(command.get("transactional_id").asText(), command.get("timeout_ms").asInt());
            case "begin":
                producer.beginTransaction();
                return "begun";
            case "send":
                return send(command.get("topic").asText(), command.get("records"));
            case "commit":
                producer.commitTransaction();
                return "committed";
            case "abort":
                producer.abortTransaction();
                return "aborted";
            case "look":
                return look(command);
            case "pipe":
                return pipe(command);
            case "take":
                return take(command);
            case "offsets":
                return offsets(command);
            case "rewind":
                return rewind();
            default:
                throw new IllegalArgumentException("unknown command " + command);
        }
    }

    private Object open(String transactionalId, int timeoutMs) {
        producer = new KafkaProducer<>(Map.of(
                "bootstrap.servers", bootstrap,
                "transactional.id", transactionalId,
                "transaction.timeout.ms", timeoutMs,
                "max.block.ms", 1000 * LIMIT_S,
                "linger.ms", 0,
                "reconnect.backoff.max.ms", 200,
                "key.serializer", StringSerializer.class,
                "value.serializer", StringSerializer.class));
        producer.initTransactions();
        return "ready";
    }

    private Object send(String topic, JsonNode records) throws Exception {
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        for (JsonNode each : records) {
            futures.add(producer.send(new ProducerRecord<>(topic, each.get(0).asInt(), null, each.get(1).asText())));
        }
        producer.flush();
        List<Long> offsets = new ArrayList<>();
        for (Future<RecordMetadata> future : futures) {
            offsets.add(future.get(LIMIT_S, TimeUnit.SECONDS).offset());
        }
        return offsets;
    }

    private KafkaConsumer<String, String> consumer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", StringDeserializer.class);
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.wait.ms", 100);
        return new KafkaConsumer<>(settings);
    }

    private Object look(JsonNode command) {
        List<Object> found = new ArrayList<>();
        int wanted = command.get("partitions").asInt();
        String isolation = "read_" + command.get("isolation").asText();
        try (KafkaConsumer<String, String> consumer = consumer(Map.of("isolation.level", isolation))) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (int partition = 0; partition < wanted; partition++) {
                partitions.add(new TopicPartition(command.get("topic").asText(), partition));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(command.get("limit_ms").asLong());
            int ends = 0;
            while (ends < wanted && System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    found.add(List.of(record.partition(), record.offset(), record.value()));
                    ends += record.value().equals(END) ? 1 : 0;
                }
            }
        }
        return found;
    }

    private KafkaConsumer<String, String> joined(JsonNode command) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("group.id", command.get("group").asText());
        settings.put("group.protocol", command.get("protocol").asText());
        settings.put("isolation.level", "read_committed");
        settings.put("max.poll.records", command.get("batch").asInt());
        if (command.get("protocol").asText().equals("classic")) {
            settings.put("session.timeout.ms", 4000);
            settings.put("heartbeat.interval.ms", 300);
        }
        return consumer(settings);
    }

    private Object take(JsonNode command) {
        if (member == null) {
            member = joined(command);
            member.subscribe(List.of(command.get("topic").asText()));
        }
        List<Object> found = new ArrayList<>();
        for (ConsumerRecord<String, String> record : member.poll(Duration.ofMillis(command.get("limit_ms").asLong()))) {
            found.add(List.of(record.partition(), record.offset(), record.value()));
        }
        return found;
    }

    private Object offsets(JsonNode command) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        command.get("positions").properties().forEach(each -> offsets.put(
                new TopicPartition(command.get("topic").asText(), Integer.parseInt(each.getKey())),
                new OffsetAndMetadata(each.getValue().asLong())));
        producer.sendOffsetsToTransaction(offsets, member.groupMetadata());
        return "sent";
    }

    private Object rewind() {
        Map<TopicPartition, OffsetAndMetadata> known = member.committed(member.assignment());
        Map<String, Long> positions = new HashMap<>();
        for (TopicPartition partition : member.assignment()) {
            OffsetAndMetadata at = known.get(partition);
            positions.put(String.valueOf(partition.partition()), at == null ? -1 : at.offset());
            member.seek(partition, at == null ? 0 : at.offset());
        }
        return positions;
    }

    private Object pipe(JsonNode command) throws Exception {
        int done = 0;
        try (KafkaConsumer<String, String> consumer = joined(command)) {
            consumer.subscribe(List.of(command.get("source").asText()));
            for (JsonNode step : command.get("plan")) {
                done += transaction(consumer, command.get("target").asText(), step.asText());
            }
        }
        return done;
    }

    private int transaction(KafkaConsumer<String, String> consumer, String target, String step) throws Exception {
        ConsumerRecords<String, String> taken = ConsumerRecords.empty();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_S);
        while (taken.isEmpty() && System.nanoTime() < deadline) {
            taken = consumer.poll(Duration.ofMillis(200));
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        Map<TopicPartition, Long> first = new HashMap<>();
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        producer.beginTransaction();
        for (ConsumerRecord<String, String> record : taken) {
            TopicPartition partition = new TopicPartition(record.topic(), record.partition());
            first.putIfAbsent(partition, record.offset());
            offsets.put(partition, new OffsetAndMetadata(record.offset() + 1));
            String value = record.value().toUpperCase(Locale.ROOT);
            futures.add(producer.send(new ProducerRecord<>(target, record.partition(), null, value)));
        }
        producer.flush();
        for (Future<RecordMetadata> future : futures) {
            future.get(LIMIT_S, TimeUnit.SECONDS);
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        if (step.equals("halt")) {
            say(Map.of("event", "halted"));
            Thread.sleep(Long.MAX_VALUE);
        }
        if (step.equals("abort")) {
            producer.abortTransaction();
            first.forEach(consumer::seek);
            return 0;
        }
        producer.commitTransaction();
        return taken.count();
    }
}
