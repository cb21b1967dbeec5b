// The Java client as a program: a JSON command per line of stdin, a JSON event per line of stdout (docs/conformance.md).

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Client {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long LIMIT_S = 20;
    private final String bootstrap;
    private Member member;

    private Client(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] words) throws Exception {
        Client client = new Client(words[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode command = JSON.readTree(line);
            try {
                say(Map.of("event", "done", "answer", client.obey(command)));
            } catch (Exception failure) {
                say(Map.of("event", "failed", "why", failure + ", caused by " + failure.getCause()));
            }
        }
        client.leave();
    }

    private static synchronized void say(Map<String, ?> event) {
        System.out.println(JSON.valueToTree(event).toString());
        System.out.flush();
    }

    private Object obey(JsonNode command) throws Exception {
        return switch (command.get("do").asText()) {
            case "create" -> create(command.get("topic").asText(), command.get("partitions").asInt());
            case "produce" -> produce(command);
            case "read" -> read(command.get("topic").asText(), command.get("count").asInt());
            case "join" -> join(command);
            case "leave" -> leave();
            case "admin" -> admin(command.get("topic").asText(), command.get("group").asText());
            default -> throw new IllegalArgumentException("unknown command " + command);
        };
    }

    private Admin newAdmin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrap, "request.timeout.ms", 1000 * (int) LIMIT_S));
    }

    private static <T> T await(KafkaFuture<T> future) throws Exception {
        return future.get(LIMIT_S, TimeUnit.SECONDS);
    }

    private Object create(String topic, int partitions) throws Exception {
        try (Admin admin = newAdmin()) {
            await(admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all());
            return await(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size();
        }
    }

    private Object produce(JsonNode command) throws Exception {
        String topic = command.get("topic").asText();
        int partitions = command.get("partitions").asInt();
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrap,
                "enable.idempotence", true,
                "acks", "all",
                "linger.ms", 5,
                "compression.type", command.get("codec").asText(),
                "key.serializer", StringSerializer.class,
                "value.serializer", StringSerializer.class);
        List<Object> acked = new ArrayList<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            for (JsonNode sent : command.get("records")) {
                int n = sent.get(0).asInt();
                ProducerRecord<String, String> record =
                        new ProducerRecord<>(topic, n % partitions, sent.get(1).asText(), sent.get(2).asText());
                record.headers().add("n", Integer.toString(n).getBytes(StandardCharsets.UTF_8));
                futures.add(producer.send(record));
            }
            producer.flush();
            for (Future<RecordMetadata> future : futures) {
                RecordMetadata where = future.get(LIMIT_S, TimeUnit.SECONDS);
                acked.add(List.of(where.partition(), where.offset()));
            }
        }
        return acked;
    }

    private static List<Object> plain(ConsumerRecord<String, String> record) {
        Header header = record.headers().lastHeader("n");
        String n = header == null ? "" : new String(header.value(), StandardCharsets.UTF_8);
        return List.of(record.partition(), record.offset(), record.key(), record.value(), n);
    }

    private Map<String, Object> consumerSettings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", StringDeserializer.class);
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.wait.ms", 100);
        return settings;
    }

    private Object read(String topic, int count) {
        List<Object> records = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(consumerSettings())) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_S);
            while (records.size() < count && System.nanoTime() < deadline) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> records.add(plain(record)));
            }
        }
        return records;
    }

    private Object join(JsonNode command) {
        Map<String, Object> settings = consumerSettings();
        settings.put("group.id", command.get("group").asText());
        settings.put("group.protocol", command.get("protocol").asText());
        if (command.get("protocol").asText().equals("classic")) {
            settings.put("session.timeout.ms", 6000);
            settings.put("heartbeat.interval.ms", 300);
        }
        member = new Member(new KafkaConsumer<>(settings), command.get("topic").asText());
        member.start();
        return "joining";
    }

    private Object leave() throws Exception {
        if (member != null) {
            member.stopping = true;
            member.join();
            member = null;
        }
        return "left";
    }

    /** One group member: every poll's records are told, then their offsets are committed. */
    private static final class Member extends Thread implements ConsumerRebalanceListener {
        private final KafkaConsumer<String, String> consumer;
        private final String topic;
        private volatile boolean stopping;

        Member(KafkaConsumer<String, String> consumer, String topic) {
            this.consumer = consumer;
            this.topic = topic;
        }

        @Override
        public void run() {
            try (consumer) {
                consumer.subscribe(List.of(topic), this);
                while (!stopping) {
                    ConsumerRecords<String, String> polled = consumer.poll(Duration.ofMillis(100));
                    if (!polled.isEmpty()) {
                        List<Object> records = new ArrayList<>();
                        polled.forEach(record -> records.add(plain(record)));
                        say(Map.of("event", "records", "records", records));
                        consumer.commitSync();
                        say(Map.of("event", "committed"));
                    }
                }
            } catch (Exception failure) {
                say(Map.of("event", "member failed", "why", String.valueOf(failure)));
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> added) {
            TreeSet<Integer> all = new TreeSet<>();
            consumer.assignment().forEach(partition -> all.add(partition.partition()));
            say(Map.of("event", "assigned", "partitions", all));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> lost) {
            TreeSet<Integer> kept = new TreeSet<>();
            consumer.assignment().forEach(partition -> kept.add(partition.partition()));
            lost.forEach(partition -> kept.remove(partition.partition()));
            say(Map.of("event", "assigned", "partitions", kept));
        }
    }

    private static String config(Admin admin, String topic, String name) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        return await(admin.describeConfigs(List.of(resource)).all()).get(resource).get(name).value();
    }

    private static List<String> groups(Admin admin) throws Exception {
        return await(admin.listGroups().all()).stream().map(GroupListing::groupId).toList();
    }

    /** What is seen once it is wanted, or after five seconds: Apache Kafka tells its changes a little later. */
    private static Object eventually(Callable<Object> look, Object wanted) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
        Object seen = look.call();
        while (!seen.equals(wanted) && System.nanoTime() < deadline) {
            Thread.sleep(50);
            seen = look.call();
        }
        return seen;
    }

    private Object admin(String topic, String group) throws Exception {
        Map<String, Object> seen = new TreeMap<>();
        try (Admin admin = newAdmin()) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            seen.put("retention", config(admin, topic, "retention.ms"));
            AlterConfigOp change =
                    new AlterConfigOp(new ConfigEntry("retention.ms", "3600000"), AlterConfigOp.OpType.SET);
            await(admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all());
            seen.put("retention altered", eventually(() -> config(admin, topic, "retention.ms"), "3600000"));

            TopicPartition first = new TopicPartition(topic, 0);
            seen.put("deleted up to", await(admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(5)))
                    .lowWatermarks().get(first)).lowWatermark());
            seen.put("earliest", await(admin.listOffsets(Map.of(first, OffsetSpec.earliest()))
                    .partitionResult(first)).offset());

            await(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all());
            seen.put("partitions", eventually(() -> await(admin.describeTopics(List.of(topic)).allTopicNames())
                    .get(topic).partitions().size(), 5));

            seen.put("group listed", groups(admin).contains(group));
            GroupState state = await(admin.describeConsumerGroups(List.of(group)).all()).get(group).groupState();
            seen.put("group state", state.toString());
            seen.put("group offset", await(admin.listConsumerGroupOffsets(group)
                    .partitionsToOffsetAndMetadata()).get(first).offset());
            await(admin.deleteConsumerGroups(List.of(group)).all());
            seen.put("group listed after", groups(admin).contains(group));

            await(admin.deleteTopics(List.of(topic)).all());
            seen.put("topic listed after", eventually(() -> await(admin.listTopics().names()).contains(topic), false));
            seen.put("cluster nodes", await(admin.describeCluster().nodes()).size());
        }
        return seen;
    }
}
