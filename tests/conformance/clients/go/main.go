// The franz-go client as a program: a JSON command per line of stdin, a JSON event per line of stdout (docs/conformance.md).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const limit = 20 * time.Second

type command struct {
	Do         string
	Topic      string
	Partitions int32
	Codec      string
	Records    [][3]any
	Count      int
	Group      string
	Protocol   string
}

type event map[string]any

var turn sync.Mutex

func say(e event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	turn.Lock()
	defer turn.Unlock()
	fmt.Println(string(line))
}

type program struct {
	bootstrap string
	stop      func()
}

func main() {
	p := &program{bootstrap: os.Args[1], stop: func() {}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c command
		err := json.Unmarshal(lines.Bytes(), &c)
		var answer any
		if err == nil {
			answer, err = p.obey(c)
		}
		if err != nil {
			say(event{"event": "failed", "why": err.Error()})
		} else {
			say(event{"event": "done", "answer": answer})
		}
	}
	p.stop()
}

func (p *program) obey(c command) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	switch c.Do {
	case "create":
		return p.create(ctx, c)
	case "produce":
		return p.produce(ctx, c)
	case "read":
		return p.read(ctx, c)
	case "join":
		return p.join(c)
	case "leave":
		p.stop()
		p.stop = func() {}
		return "left", nil
	case "admin":
		return p.admin(ctx, c)
	}
	return nil, fmt.Errorf("unknown command %q", c.Do)
}

func (p *program) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(opts, kgo.SeedBrokers(p.bootstrap), kgo.FetchMaxWait(100*time.Millisecond))...)
}

func (p *program) create(ctx context.Context, c command) (any, error) {
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, c.Partitions, 1, nil, c.Topic); err != nil {
		return nil, err
	}
	for {
		count, err := partitions(ctx, admin, c.Topic)
		// Apache Kafka may answer the creation before it tells of the topic.
		if !errors.Is(err, kerr.UnknownTopicOrPartition) || ctx.Err() != nil {
			return count, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func partitions(ctx context.Context, admin *kadm.Client, topic string) (int, error) {
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	return len(topics[topic].Partitions), topics[topic].Err
}

func codec(name string) kgo.CompressionCodec {
	switch name {
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	}
	return kgo.NoCompression()
}

// Idempotence is franz-go's default.
func (p *program) produce(ctx context.Context, c command) (any, error) {
	client, err := p.client(
		kgo.ProducerBatchCompression(codec(c.Codec)),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(5*time.Millisecond),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records := make([]*kgo.Record, 0, len(c.Records))
	for _, sent := range c.Records {
		n := int(sent[0].(float64))
		records = append(records, &kgo.Record{
			Topic:     c.Topic,
			Partition: int32(n) % c.Partitions,
			Key:       []byte(sent[1].(string)),
			Value:     []byte(sent[2].(string)),
			Headers:   []kgo.RecordHeader{{Key: "n", Value: []byte(strconv.Itoa(n))}},
		})
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, err
	}
	acked := make([][2]int64, 0, len(records))
	for _, record := range records {
		acked = append(acked, [2]int64{int64(record.Partition), record.Offset})
	}
	return acked, nil
}

func told(record *kgo.Record) []any {
	n := ""
	for _, header := range record.Headers {
		if header.Key == "n" {
			n = string(header.Value)
		}
	}
	return []any{record.Partition, record.Offset, string(record.Key), string(record.Value), n}
}

func (p *program) read(ctx context.Context, c command) (any, error) {
	client, err := p.client(kgo.ConsumeTopics(c.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records := [][]any{}
	for len(records) < c.Count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) { records = append(records, told(record)) })
	}
	return records, nil
}

// member is one of a group: every poll's records are told, then their offsets are committed. franz-go may call back
// while a poll is on its way, so polling blocks rebalances until it says otherwise.
func (p *program) join(c command) (any, error) {
	var lock sync.Mutex
	mine := map[int32]bool{}
	change := func(changed map[string][]int32, has bool) {
		lock.Lock()
		defer lock.Unlock()
		for _, partition := range changed[c.Topic] {
			if has {
				mine[partition] = true
			} else {
				delete(mine, partition)
			}
		}
		say(event{"event": "assigned", "partitions": append([]int32{}, slices.Sorted(maps.Keys(mine))...)})
	}
	lost := func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) { change(partitions, false) }
	opts := []kgo.Opt{
		kgo.ConsumerGroup(c.Group),
		kgo.ConsumeTopics(c.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { change(got, true) }),
		kgo.OnPartitionsRevoked(lost),
		kgo.OnPartitionsLost(lost),
	}
	if c.Protocol == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer())
	} else {
		opts = append(opts, kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(300*time.Millisecond))
	}
	client, err := p.client(opts...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		live(ctx, client)
	}()
	p.stop = func() {
		cancel()
		<-done
		client.CloseAllowingRebalance()
	}
	return "joining", nil
}

func live(ctx context.Context, client *kgo.Client) {
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		if err := fetches.Err(); err != nil {
			say(event{"event": "member failed", "why": err.Error()})
			return
		}
		records := [][]any{}
		fetches.EachRecord(func(record *kgo.Record) { records = append(records, told(record)) })
		if len(records) > 0 {
			say(event{"event": "records", "records": records})
			if err := client.CommitUncommittedOffsets(ctx); err != nil {
				say(event{"event": "member failed", "why": err.Error()})
				return
			}
			say(event{"event": "committed"})
		}
		client.AllowRebalance()
	}
}

func (p *program) admin(ctx context.Context, c command) (any, error) {
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	seen := event{}
	for _, step := range []func() error{
		func() error { return configs(ctx, admin, c.Topic, seen) },
		func() error { return deleted(ctx, admin, c.Topic, seen) },
		func() error { return groups(ctx, admin, c, seen) },
		func() error { return topics(ctx, admin, c.Topic, seen) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func retention(ctx context.Context, admin *kadm.Client, topic string) (string, error) {
	found, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return "", err
	}
	for _, config := range found[0].Configs {
		if config.Key == "retention.ms" {
			return config.MaybeValue(), found[0].Err
		}
	}
	return "", fmt.Errorf("no retention.ms among the %d configs of %s", len(found[0].Configs), topic)
}

// eventually is what look sees once it is wanted, or after five seconds: Apache Kafka tells its changes a little later.
func eventually[T comparable](look func() (T, error), wanted T) (T, error) {
	deadline := time.Now().Add(5 * time.Second)
	for {
		seen, err := look()
		if err != nil || seen == wanted || time.Now().After(deadline) {
			return seen, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func configs(ctx context.Context, admin *kadm.Client, topic string, seen event) (err error) {
	if seen["retention"], err = retention(ctx, admin, topic); err != nil {
		return err
	}
	hour := "3600000"
	change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &hour}}
	altered, err := admin.AlterTopicConfigs(ctx, change, topic)
	if err != nil {
		return err
	}
	if altered[0].Err != nil {
		return altered[0].Err
	}
	seen["retention altered"], err = eventually(func() (string, error) { return retention(ctx, admin, topic) }, hour)
	return err
}

func deleted(ctx context.Context, admin *kadm.Client, topic string, seen event) error {
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, 5, -1)
	answers, err := admin.DeleteRecords(ctx, offsets)
	if err != nil {
		return err
	}
	if err := answers.Error(); err != nil {
		return err
	}
	seen["deleted up to"] = answers[topic][0].LowWatermark
	earliest, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return err
	}
	seen["earliest"] = earliest[topic][0].Offset
	if _, err := admin.UpdatePartitions(ctx, 5, topic); err != nil {
		return err
	}
	seen["partitions"], err = eventually(func() (int, error) { return partitions(ctx, admin, topic) }, 5)
	return err
}

func groups(ctx context.Context, admin *kadm.Client, c command, seen event) error {
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return err
	}
	_, seen["group listed"] = listed[c.Group]
	seen["group state"] = listed[c.Group].State
	offsets, err := admin.FetchOffsets(ctx, c.Group)
	if err != nil {
		return err
	}
	seen["group offset"] = offsets[c.Topic][0].At
	if _, err := admin.DeleteGroup(ctx, c.Group); err != nil {
		return err
	}
	if listed, err = admin.ListGroups(ctx); err != nil {
		return err
	}
	_, seen["group listed after"] = listed[c.Group]
	return nil
}

func topics(ctx context.Context, admin *kadm.Client, topic string, seen event) error {
	if _, err := admin.DeleteTopic(ctx, topic); err != nil {
		return err
	}
	var err error
	seen["topic listed after"], err = eventually(func() (bool, error) {
		listed, err := admin.ListTopics(ctx)
		return listed.Has(topic), err
	}, false)
	if err != nil {
		return err
	}
	brokers, err := admin.ListBrokers(ctx)
	seen["cluster nodes"] = len(brokers)
	return err
}
