// The franz-go client as a transactional program: a JSON command per line of stdin, a JSON event per line of stdout. The
// commands are those of clients/python/transactional.py.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	limit = 20 * time.Second
	end   = "end"
)

type command struct {
	Do              string
	TransactionalID string `json:"transactional_id"`
	TimeoutMs       int    `json:"timeout_ms"`
	Topic           string
	Records         [][2]any
	Partitions      int
	Isolation       string
	LimitMs         int `json:"limit_ms"`
	Source          string
	Target          string
	Group           string
	Protocol        string
	Batch           int
	Plan            []string
}

type event map[string]any

func say(e event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

type program struct {
	bootstrap string
	identity  []kgo.Opt
	client    *kgo.Client
}

func main() {
	p := &program{bootstrap: os.Args[1]}
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
}

func (p *program) obey(c command) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	switch c.Do {
	case "open":
		return p.open(ctx, c)
	case "begin":
		return "begun", p.client.BeginTransaction()
	case "send":
		return p.send(ctx, c)
	case "commit":
		return "committed", p.client.EndTransaction(ctx, kgo.TryCommit)
	case "abort":
		return "aborted", p.client.EndTransaction(ctx, kgo.TryAbort)
	case "look":
		return p.look(c)
	case "pipe":
		return p.pipe(c)
	}
	return nil, fmt.Errorf("unknown command %q", c.Do)
}

func (p *program) options(more ...kgo.Opt) []kgo.Opt {
	return append(more, kgo.SeedBrokers(p.bootstrap), kgo.FetchMaxWait(100*time.Millisecond))
}

// The identity is asked for at once, as in other clients: the one before is fenced from here on.
func (p *program) open(ctx context.Context, c command) (any, error) {
	p.identity = []kgo.Opt{
		kgo.TransactionalID(c.TransactionalID),
		kgo.TransactionTimeout(time.Duration(c.TimeoutMs) * time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
	}
	client, err := kgo.NewClient(p.options(p.identity...)...)
	if err != nil {
		return nil, err
	}
	p.client = client
	_, _, err = client.ProducerID(ctx)
	return "ready", err
}

func records(topic string, sent [][2]any) []*kgo.Record {
	made := make([]*kgo.Record, 0, len(sent))
	for _, each := range sent {
		partition, value := int32(each[0].(float64)), each[1].(string)
		made = append(made, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)})
	}
	return made
}

func (p *program) send(ctx context.Context, c command) (any, error) {
	made := records(c.Topic, c.Records)
	if err := p.client.ProduceSync(ctx, made...).FirstErr(); err != nil {
		return nil, err
	}
	offsets := make([]int64, 0, len(made))
	for _, record := range made {
		offsets = append(offsets, record.Offset)
	}
	return offsets, nil
}

func (p *program) look(c command) (any, error) {
	level := kgo.ReadUncommitted()
	if c.Isolation == "committed" {
		level = kgo.ReadCommitted()
	}
	client, err := kgo.NewClient(p.options(
		kgo.ConsumeTopics(c.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(level),
	)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.LimitMs)*time.Millisecond)
	defer cancel()
	found := [][3]any{}
	for ends := 0; ends < c.Partitions && ctx.Err() == nil; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil && ctx.Err() == nil {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			found = append(found, [3]any{record.Partition, record.Offset, string(record.Value)})
			if string(record.Value) == end {
				ends++
			}
		})
	}
	return found, nil
}

// franz-go's session commits the offsets of what was polled in the same transaction, and rewinds after an abort.
func (p *program) pipe(c command) (any, error) {
	p.client.Close()
	opts := append(p.identity,
		kgo.ConsumerGroup(c.Group),
		kgo.ConsumeTopics(c.Source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if c.Protocol == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer())
	} else {
		opts = append(opts, kgo.SessionTimeout(4*time.Second), kgo.HeartbeatInterval(300*time.Millisecond))
	}
	session, err := kgo.NewGroupTransactSession(p.options(opts...)...)
	if err != nil {
		return nil, err
	}
	defer session.CloseAllowingRebalance()
	done := 0
	for _, step := range c.Plan {
		count, err := transaction(session, c.Target, c.Batch, step)
		if err != nil {
			return nil, err
		}
		done += count
	}
	return done, nil
}

func transaction(session *kgo.GroupTransactSession, target string, batch int, step string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	taken := session.PollRecords(ctx, batch)
	if err := taken.Err(); err != nil {
		return 0, err
	}
	made := make([]*kgo.Record, 0, batch)
	taken.EachRecord(func(record *kgo.Record) {
		value := []byte(strings.ToUpper(string(record.Value)))
		made = append(made, &kgo.Record{Topic: target, Partition: record.Partition, Value: value})
	})
	if err := session.Begin(); err != nil {
		return 0, err
	}
	if err := session.ProduceSync(ctx, made...).FirstErr(); err != nil {
		return 0, err
	}
	if step == "halt" {
		say(event{"event": "halted"})
		select {}
	}
	committed, err := session.End(ctx, kgo.TransactionEndTry(step == "commit"))
	if err != nil {
		return 0, err
	}
	if !committed && step == "commit" {
		return 0, errors.New("wanted a commit, found that the session aborted")
	}
	if !committed {
		return 0, nil
	}
	return len(made), nil
}
