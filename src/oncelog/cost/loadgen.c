/* A native load generator that speaks Kafka's wire: real clients on the same two cores are the limit long before a broker is.
 *
 *   loadgen txn     HOST PORT TOPIC partitions producers records record_bytes batch_records seconds rate first
 *   loadgen produce HOST PORT TOPIC partitions connections inflight record_bytes batch_records seconds acks most [FILE]
 *   loadgen fetch   HOST PORT TOPIC partitions max_bytes seconds
 *   loadgen seen    HOST PORT TOPIC producers records record_bytes seconds rate open_ms
 *   loadgen open    HOST PORT TOPIC partitions producers record_bytes
 *
 * txn      each producer is one transactional id on one connection: Produce v12 (the partition joins by itself, KIP-890), then
 *          EndTxn v5, closed loop, or `rate` transactions a second over all producers (latency then counts from the planned
 *          time). Retriable answers are asked again and counted. With more partitions than producers the first transactions go to
 *          the partitions from `first` on, and each further one to the next of its producer's partitions, `producers` further on.
 *          `partitions` says how many were written to, `reached` up to which, from `first` on, all of them.
 * produce  producers with `inflight` requests each: idempotent with acks -1, plain with acks 1. Ends after `most` requests, if
 *          that is not 0, each producer after its share of them (which is rounded up). FILE holds one record batch to send instead of random records, for instance a compressed one.
 * fetch    read_committed, one partition after the other, from the beginning, again and again.
 * seen     `rate` transactions a second of one partition, each open for `open_ms` (0: no longer than its records need), and a
 *          reader that long-polls at read_committed beside it. latency_us: from the begin of a transaction until its last record
 *          was read; end_us: from its EndTxn, that is how long the last stable offset lags.
 * open     begins one transaction of one record for each producer, says "{}" and keeps them open until its input ends.
 *
 * Prints one line of JSON. Latencies are microseconds: p50, p99, p99.9 and the largest; at a given rate each one as well. Any other answer ends it with exit code 1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_SAMPLES 4000000
#define RETRY_WAIT_US 500
#define MAX_SEEN 1000000

static void fail(const char *what, long number) {
  fprintf(stderr, "loadgen: %s %ld%s%s\n", what, number, errno ? ": " : "", errno ? strerror(errno) : "");
  exit(1);
}
static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- CRC-32C, by hardware where there is one */
static uint32_t crc_table[8][256];
static void crc_begin(void) {
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t c = n;
    for (int k = 0; k < 8; k++) c = c & 1 ? 0x82F63B78u ^ (c >> 1) : c >> 1;
    crc_table[0][n] = c;
  }
  for (int n = 0; n < 256; n++)
    for (int k = 1; k < 8; k++) crc_table[k][n] = crc_table[0][crc_table[k - 1][n] & 255] ^ (crc_table[k - 1][n] >> 8);
}
#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_hard(const uint8_t *p, size_t n) {
  uint64_t c = 0xFFFFFFFFu, word;
  while (n >= 8) { memcpy(&word, p, 8); c = __builtin_ia32_crc32di(c, word); p += 8; n -= 8; }
  uint32_t d = (uint32_t)c;
  while (n--) d = __builtin_ia32_crc32qi(d, *p++);
  return d ^ 0xFFFFFFFFu;
}
#endif
static uint32_t crc32c(const uint8_t *p, size_t n) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc_hard(p, n);
#endif
  uint32_t c = 0xFFFFFFFFu;
  while (n--) c = crc_table[0][(c ^ *p++) & 255] ^ (c >> 8);
  return c ^ 0xFFFFFFFFu;
}

/* ---- bytes */
typedef struct { uint8_t *at; size_t size, room; } Bytes;
static void put(Bytes *b, const void *data, size_t n) {
  if (b->size + n > b->room) {
    b->room = (b->size + n) * 2;
    b->at = realloc(b->at, b->room);
    if (!b->at) fail("no memory for", (long)b->room);
  }
  memcpy(b->at + b->size, data, n);
  b->size += n;
}
static void put8(Bytes *b, uint8_t v) { put(b, &v, 1); }
static void put16(Bytes *b, int v) { uint16_t x = htons((uint16_t)v); put(b, &x, 2); }
static void put32(Bytes *b, int32_t v) { uint32_t x = htonl((uint32_t)v); put(b, &x, 4); }
static void put64(Bytes *b, int64_t v) { put32(b, (int32_t)(v >> 32)); put32(b, (int32_t)v); }
static void put_uvarint(Bytes *b, uint32_t v) { while (v >= 128) { put8(b, (uint8_t)(v | 128)); v >>= 7; } put8(b, (uint8_t)v); }
static void put_varint(Bytes *b, int32_t v) { put_uvarint(b, ((uint32_t)v << 1) ^ (uint32_t)(v >> 31)); }
static void put_compact(Bytes *b, const char *s) { put_uvarint(b, (uint32_t)strlen(s) + 1); put(b, s, strlen(s)); }
static void set16(uint8_t *p, int v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static void set32(uint8_t *p, uint32_t v) { p[0] = (uint8_t)(v >> 24); p[1] = (uint8_t)(v >> 16); p[2] = (uint8_t)(v >> 8); p[3] = (uint8_t)v; }
static void set64(uint8_t *p, int64_t v) { set32(p, (uint32_t)(v >> 32)); set32(p + 4, (uint32_t)v); }
static int get16(const uint8_t *p) { return (int16_t)(p[0] << 8 | p[1]); }
static int32_t get32(const uint8_t *p) { return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]); }
static int64_t get64(const uint8_t *p) { return (int64_t)get32(p) << 32 | (uint32_t)get32(p + 4); }
static uint32_t get_uvarint(const uint8_t **p) { uint32_t v = 0; int s = 0; for (;;) { uint8_t c = *(*p)++; v |= (uint32_t)(c & 127) << s; if (c < 128) return v; s += 7; } }

static size_t begin_request(Bytes *b, int key, int version, int flexible) {
  size_t from = b->size;
  put32(b, 0); put16(b, key); put16(b, version); put32(b, 0);
  put16(b, 7); put(b, "loadgen", 7);
  if (flexible) put8(b, 0);
  return from;
}
static void end_request(Bytes *b, size_t from) { set32(b->at + from, (uint32_t)(b->size - from - 4)); }

/* ---- settings */
static char *topic;
static int partitions, producers, inflight, record_bytes, batch_records, txn_records, acks = -1, first;
static int64_t most, share, asked_for;    /* share: of each producer, so that all partitions get as much */
static const char *batch_file = "-";
static double seconds, rate;
static struct sockaddr_in where;

static int open_socket(void) {
  int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  if (s < 0 || connect(s, (struct sockaddr *)&where, sizeof where)) fail("connect", s);
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return s;
}

static double cpu_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* ---- samples */
typedef struct { uint32_t *at; size_t count; } Samples;
static void sample(Samples *s, int64_t us) {
  if (!s->at) { s->at = malloc(MAX_SAMPLES * sizeof *s->at); if (!s->at) fail("no memory for samples", 0); }
  if (s->count < MAX_SAMPLES) s->at[s->count++] = us < 0 ? 0 : (uint32_t)us;
}
static int by_size(const void *a, const void *b) { uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b; return (x > y) - (x < y); }
static void print_samples(const char *name, Samples *s) {
  if (!s->count) { printf(", \"%s\": null", name); return; }
  qsort(s->at, s->count, sizeof *s->at, by_size);
  printf(", \"%s\": {\"p50\": %u, \"p99\": %u, \"p999\": %u, \"max\": %u}", name, s->at[s->count / 2], s->at[s->count * 99 / 100],
         s->at[s->count * 999 / 1000], s->at[s->count - 1]);
}
static void print_each(const char *name, const Samples *s) {
  printf(", \"%s\": [", name);
  for (size_t n = 0; n < s->count; n++) printf(n ? ", %u" : "%u", s->at[n]);
  printf("]");
}

/* ---- one record batch inside one Produce request; header fields are patched, then the CRC */
typedef struct { Bytes frame; size_t batch, length, partition_at; } Request;
static void put_file(Bytes *b, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot open the file of the batch", 0);
  uint8_t piece[65536];
  for (size_t n; (n = fread(piece, 1, sizeof piece, file));) put(b, piece, n);
  fclose(file);
  if (b->size < 61) fail("wanted a record batch in the file, found bytes:", (long)b->size);
}
static void put_batch(Bytes *body, const char *tid, int records) {
  put64(body, 0); put32(body, 0); put32(body, -1); put8(body, 2); put32(body, 0);
  put16(body, tid ? 0x10 : 0); put32(body, records - 1);
  struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
  int64_t ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
  put64(body, ms); put64(body, ms);
  put64(body, 0); put16(body, 0); put32(body, 0); put32(body, records);
  uint8_t *value = malloc((size_t)record_bytes);
  for (int n = 0; n < records; n++) {
    for (int k = 0; k < record_bytes; k++) value[k] = (uint8_t)random();
    Bytes one = {0};
    put8(&one, 0); put_varint(&one, 0); put_varint(&one, n); put_varint(&one, -1); put_varint(&one, record_bytes);
    put(&one, value, (size_t)record_bytes); put_varint(&one, 0);
    put_varint(body, (int32_t)one.size); put(body, one.at, one.size);
    free(one.at);
  }
  free(value);
  set32(body->at + 8, (uint32_t)(body->size - 12));
}
static void make_request(Request *r, const char *tid, int partition, int records) {
  Bytes *b = &r->frame;
  b->size = 0;
  size_t from = begin_request(b, 0, 12, 1);
  if (tid) put_compact(b, tid); else put8(b, 0);
  put16(b, acks); put32(b, 30000);
  put_uvarint(b, 2); put_compact(b, topic);
  put_uvarint(b, 2); r->partition_at = b->size; put32(b, partition);
  Bytes body = {0};
  if (strcmp(batch_file, "-")) put_file(&body, batch_file);
  else put_batch(&body, tid, records);
  put_uvarint(b, (uint32_t)body.size + 1);
  r->batch = b->size; r->length = body.size;
  put(b, body.at, body.size);
  free(body.at);
  put8(b, 0); put8(b, 0); put8(b, 0);
  end_request(b, from);
}
static void seal(Request *r, int64_t producer_id, int epoch, int32_t sequence) {
  uint8_t *p = r->frame.at + r->batch;
  set64(p + 43, producer_id); set16(p + 51, epoch); set32(p + 53, (uint32_t)sequence);
  set32(p + 17, crc32c(p + 21, r->length - 21));
}

/* ---- connections */
enum { INIT, PRODUCING, HOLDING, ENDING, RESTING };
typedef struct {
  int socket, state, out, next_part, flying;
  char tid[64];
  int64_t producer_id; int epoch, partition;
  int32_t sequence;
  int64_t asked, began, end_sent, produce_sent, retry_at, due, begun, number; /* number: of `seen`, which transaction it is */
  int retry_kind;
  Request *parts; int part_count;
  Bytes outgoing; size_t sent;
  uint8_t *in; size_t in_size, in_room;
  int64_t sent_at[64]; int head, tail;
} Peer;
static int events_fd;
static int64_t seen_began[MAX_SEEN], seen_end[MAX_SEEN], begun_count; /* of `seen`: times by transaction */
static Samples whole, end_only, produce_only;
static int64_t done, done_records, done_bytes, retries, hold_us;
static uint8_t *written_to; /* by partition */

static void push(Peer *p) {
  while (p->sent < p->outgoing.size) {
    ssize_t n = send(p->socket, p->outgoing.at + p->sent, p->outgoing.size - p->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EAGAIN) { struct epoll_event e = {EPOLLIN | EPOLLOUT, {.ptr = p}}; epoll_ctl(events_fd, EPOLL_CTL_MOD, p->socket, &e); p->out = 1; return; }
      fail("send", errno);
    }
    p->sent += (size_t)n;
  }
  p->outgoing.size = p->sent = 0;
  if (p->out) { struct epoll_event e = {EPOLLIN, {.ptr = p}}; epoll_ctl(events_fd, EPOLL_CTL_MOD, p->socket, &e); p->out = 0; }
}
static void ask_init(Peer *p) {
  size_t from = begin_request(&p->outgoing, 22, 4, 1);
  if (*p->tid) put_compact(&p->outgoing, p->tid); else put8(&p->outgoing, 0);
  put32(&p->outgoing, 60000); put64(&p->outgoing, -1); put16(&p->outgoing, -1); put8(&p->outgoing, 0);
  end_request(&p->outgoing, from);
  p->state = INIT;
  push(p);
}
static void ask_end(Peer *p) {
  size_t from = begin_request(&p->outgoing, 26, 5, 1);
  put_compact(&p->outgoing, p->tid); put64(&p->outgoing, p->producer_id); put16(&p->outgoing, p->epoch); put8(&p->outgoing, 1); put8(&p->outgoing, 0);
  end_request(&p->outgoing, from);
  p->state = ENDING;
  p->end_sent = now_us();
  if (begun_count) seen_end[p->number] = p->end_sent;
  push(p);
}
static void send_part(Peer *p, int part) {
  int per = batch_records;
  seal(&p->parts[part], p->producer_id, p->epoch, p->sequence + part * per);
  put(&p->outgoing, p->parts[part].frame.at, p->parts[part].frame.size);
  p->flying++;
}
static void begin_txn(Peer *p, int64_t at) {
  p->state = PRODUCING; p->began = at; p->sequence = 0; p->next_part = 0; p->flying = 0;
  p->produce_sent = now_us();
  if (partitions > producers) {
    if (p->begun++) p->partition = (p->partition + producers) % partitions;
    written_to[p->partition] = 1;
    for (int n = 0; n < p->part_count; n++) set32(p->parts[n].frame.at + p->parts[n].partition_at, (uint32_t)p->partition);
  }
  send_part(p, 0); /* the first alone: it adds the partition */
  p->next_part = 1;
  push(p);
}
static void send_produce(Peer *p) {
  Request *r = &p->parts[p->next_part];
  if (acks == -1) seal(r, p->producer_id, p->epoch, p->sequence);
  else seal(r, -1, -1, -1);
  p->sequence = (int32_t)(((int64_t)p->sequence + batch_records) & 0x7FFFFFFF);
  p->next_part = (p->next_part + 1) % p->part_count;
  put(&p->outgoing, r->frame.at, r->frame.size);
  p->sent_at[p->head++ & 63] = now_us();
  p->flying++;
  p->asked++;
  asked_for++;
}
static int is_retriable(int error) { return error == 19 || error == 51 || error == 14 || error == 15 || error == 16 || error == 3 || error == 7 || error == 6; }
static int produce_error(const uint8_t *b) {
  const uint8_t *p = b + 5;
  get_uvarint(&p); p += get_uvarint(&p) - 1; get_uvarint(&p); p += 4;
  return get16(p);
}
static int64_t stop_at, interval_us;
static int transactional, keeps_open, opened;

static void answered(Peer *p, const uint8_t *b) {
  if (p->state == INIT) {
    int error = get16(b + 9);
    if (is_retriable(error)) { p->retry_at = now_us() + 20000; p->retry_kind = INIT; p->state = RESTING; return; }
    if (error) fail("InitProducerId answered", error);
    p->producer_id = get64(b + 11); p->epoch = get16(b + 19);
    p->state = RESTING; p->retry_at = 0;
    return;
  }
  if (p->state == PRODUCING) {
    int error = produce_error(b);
    p->flying--;
    if (!transactional) {
      if (error) fail("Produce answered", error);
      sample(&whole, now_us() - p->sent_at[p->tail++ & 63]);
      done++; done_records += batch_records; done_bytes += (int64_t)batch_records * record_bytes;
      if (now_us() < stop_at && (!most || p->asked < share)) { send_produce(p); push(p); }
      return;
    }
    if (is_retriable(error) && p->next_part == 1) { retries++; p->retry_at = now_us() + RETRY_WAIT_US; p->retry_kind = PRODUCING; return; }
    if (error) fail("Produce answered", error);
    if (p->next_part == 1) sample(&produce_only, now_us() - p->produce_sent);
    while (p->next_part < p->part_count && p->flying < 5) send_part(p, p->next_part++);
    if (p->flying) { push(p); return; }
    if (keeps_open) { p->state = RESTING; opened++; return; }
    if (hold_us) { p->state = HOLDING; return; }
    ask_end(p);
    return;
  }
  if (p->state == ENDING) {
    int error = get16(b + 9);
    if (is_retriable(error)) { retries++; p->retry_at = now_us() + RETRY_WAIT_US; p->retry_kind = ENDING; return; }
    if (error) fail("EndTxn answered", error);
    p->producer_id = get64(b + 11); p->epoch = get16(b + 19);
    int64_t now = now_us();
    if (!begun_count) { sample(&end_only, now - p->end_sent); sample(&whole, now - p->began); } /* `seen` counts what was read */
    done++; done_records += txn_records; done_bytes += (int64_t)txn_records * record_bytes;
    p->state = RESTING;
    if (interval_us) { p->due += interval_us; return; }
    if (now < stop_at) begin_txn(p, now);
  }
}
static void receive(Peer *p) {
  for (;;) {
    if (p->in_room - p->in_size < 65536) { p->in_room = p->in_room ? p->in_room * 2 : 131072; p->in = realloc(p->in, p->in_room); }
    ssize_t n = recv(p->socket, p->in + p->in_size, p->in_room - p->in_size, MSG_DONTWAIT);
    if (n == 0) fail("the broker closed connection", p->socket);
    if (n < 0) { if (errno == EAGAIN) break; fail("recv", errno); }
    p->in_size += (size_t)n;
    if ((size_t)n < 65536) break;
  }
  size_t at = 0;
  while (p->in_size - at >= 4) {
    size_t size = (size_t)get32(p->in + at);
    if (p->in_size - at < 4 + size) break;
    answered(p, p->in + at + 4);
    at += 4 + size;
  }
  memmove(p->in, p->in + at, p->in_size - at);
  p->in_size -= at;
}
/* Waits to the microsecond: epoll_wait knows only whole milliseconds, as long as a whole transaction takes. */
static void wait_us(int64_t us) {
  struct pollfd any = {events_fd, POLLIN, 0};
  struct timespec t = {us / 1000000, us % 1000000 * 1000};
  if (us > 0) ppoll(&any, 1, &t, NULL);
}
/* Until something has to be sent that no answer brings about: a planned transaction, or a request once more. */
static int64_t next_due(const Peer *peers, int count) {
  int64_t now = now_us(), next = now + 20000;
  for (int k = 0; k < count; k++) {
    const Peer *p = &peers[k];
    if (p->retry_at) { if (p->retry_at < next) next = p->retry_at; }
    else if (interval_us && p->state == RESTING && p->due < stop_at && p->due < next) next = p->due;
  }
  return next > now ? next - now : 0;
}
static void turn(Peer *peers, int count, int64_t longest_us) {
  struct epoll_event ready[256];
  wait_us(longest_us);
  int n = epoll_wait(events_fd, ready, 256, 0);
  for (int k = 0; k < n; k++) {
    Peer *p = ready[k].data.ptr;
    if (ready[k].events & EPOLLOUT) push(p);
    if (ready[k].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(p);
  }
  int64_t now = now_us();
  for (int k = 0; k < count; k++) {
    Peer *p = &peers[k];
    if (p->retry_at) {
      if (now >= p->retry_at) {
        p->retry_at = 0;
        if (p->retry_kind == INIT) ask_init(p);
        else if (p->retry_kind == ENDING) ask_end(p);
        else { p->next_part = 0; send_part(p, p->next_part++); push(p); }
      }
    }
    if (interval_us && p->state == RESTING && !p->retry_at) {
      if (now >= p->due && p->due < stop_at) begin_txn(p, p->due);
    }
  }
}

static void run_produce_side(int is_txn) {
  transactional = is_txn;
  events_fd = epoll_create1(0);
  written_to = calloc((size_t)partitions, 1);
  Peer *peers = calloc((size_t)producers, sizeof *peers);
  int parts = is_txn ? (txn_records + batch_records - 1) / batch_records : 8;
  for (int k = 0; k < producers; k++) {
    Peer *p = &peers[k];
    if (is_txn) snprintf(p->tid, sizeof p->tid, "load-%d-%d", (int)getpid(), k);
    p->socket = open_socket();
    p->part_count = parts;
    p->partition = partitions > producers ? (first + k) % partitions : k % partitions;
    p->parts = calloc((size_t)parts, sizeof *p->parts);
    for (int n = 0; n < parts; n++) {
      int records = is_txn && n == parts - 1 ? txn_records - n * batch_records : batch_records;
      make_request(&p->parts[n], is_txn ? p->tid : NULL, p->partition, records);
    }
    struct epoll_event e = {EPOLLIN, {.ptr = p}};
    epoll_ctl(events_fd, EPOLL_CTL_ADD, p->socket, &e);
    ask_init(p);
  }
  int64_t limit = now_us() + 60000000;
  for (;;) {
    int all = 1;
    for (int k = 0; k < producers; k++) if (peers[k].state != RESTING || peers[k].retry_at) all = 0;
    if (all) break;
    if (now_us() > limit) fail("producers did not get their ids within seconds:", 60);
    int64_t keep = interval_us; interval_us = 0;
    turn(peers, producers, 1000);
    interval_us = keep;
  }
  if (keeps_open) {
    for (int k = 0; k < producers; k++) begin_txn(&peers[k], now_us());
    while (opened < producers) turn(peers, producers, 1000);
    printf("{}\n");
    fflush(stdout);
    while (getchar() != EOF) {}
    return;
  }
  double cpu_before = cpu_seconds();
  int64_t began = now_us();
  stop_at = began + (int64_t)(seconds * 1e6);
  interval_us = rate > 0 ? (int64_t)(producers * 1e6 / rate) : 0;
  share = (most + producers - 1) / producers;
  most = share * producers;
  for (int k = 0; k < producers; k++) {
    Peer *p = &peers[k];
    if (!is_txn) { p->state = PRODUCING; for (int n = 0; n < inflight && (!most || p->asked < share); n++) send_produce(p); push(p); }
    else if (interval_us) p->due = began + interval_us * k / producers;
    else begin_txn(p, began);
  }
  for (;;) {
    int busy = 0;
    turn(peers, producers, next_due(peers, producers));
    for (int k = 0; k < producers; k++) if (peers[k].state != RESTING && (is_txn || peers[k].flying)) busy = 1;
    if (!busy && (now_us() >= stop_at || (most && asked_for >= most))) break;
    if (now_us() > stop_at + 30000000) fail("answers are missing after seconds:", 30);
  }
  double took = (double)(now_us() - began) / 1e6;
  printf("{\"seconds\": %.3f, \"done\": %ld, \"records\": %ld, \"bytes\": %ld, \"retries\": %ld, \"client_cpu_seconds\": %.3f", took, (long)done,
         (long)done_records, (long)done_bytes, (long)retries, cpu_seconds() - cpu_before);
  print_samples("latency_us", &whole);
  if (is_txn) { print_samples("end_us", &end_only); print_samples("produce_us", &produce_only); }
  if (is_txn && rate > 0) { print_each("latency_each", &whole); print_each("end_each", &end_only); }
  if (is_txn && partitions > producers) {
    int64_t least = peers[0].begun, count = 0;
    for (int k = 0; k < producers; k++) if (peers[k].begun < least) least = peers[k].begun;
    for (int k = 0; k < partitions; k++) count += written_to[k];
    printf(", \"partitions\": %ld, \"reached\": %ld", (long)count, (long)(first + least * producers));
  }
  printf("}\n");
}

static void read_all(int s, uint8_t *to, size_t n) {
  while (n) { ssize_t got = recv(s, to, n, 0); if (got <= 0) fail("recv", (long)got); to += got; n -= (size_t)got; }
}
static void run_fetch(int max_bytes) {
  int s = open_socket();
  int64_t *offsets = calloc((size_t)partitions, sizeof *offsets), *batches = calloc((size_t)partitions, sizeof *batches);
  uint8_t *answer = NULL; size_t room = 0;
  double cpu_before = cpu_seconds();
  int64_t began = now_us();
  stop_at = began + (int64_t)(seconds * 1e6);
  Bytes out = {0};
  for (int part = 0; now_us() < stop_at; part = (part + 1) % partitions) {
    out.size = 0;
    size_t from = begin_request(&out, 1, 11, 0);
    put32(&out, -1); put32(&out, 0); put32(&out, 1); put32(&out, max_bytes); put8(&out, 1); put32(&out, 0); put32(&out, -1);
    put32(&out, 1); put16(&out, (int)strlen(topic)); put(&out, topic, strlen(topic));
    put32(&out, 1); put32(&out, part); put32(&out, -1); put64(&out, offsets[part]); put64(&out, -1); put32(&out, max_bytes);
    put32(&out, 0); put16(&out, 0);
    end_request(&out, from);
    int64_t asked = now_us();
    for (size_t sent = 0; sent < out.size;) { ssize_t n = send(s, out.at + sent, out.size - sent, MSG_NOSIGNAL); if (n < 0) fail("send", n); sent += (size_t)n; }
    uint8_t head[4]; read_all(s, head, 4);
    size_t size = (size_t)get32(head);
    if (size > room) { room = size; answer = realloc(answer, room); }
    read_all(s, answer, size);
    sample(&whole, now_us() - asked);
    const uint8_t *p = answer + 4 + 4;
    if (get16(p)) fail("Fetch answered", get16(p));
    p += 2 + 4 + 4; p += 2 + get16(p) + 4 + 4;
    int error = get16(p);
    if (error == 1) { offsets[part] = 0; continue; }
    if (error) fail("Fetch of a partition answered", error);
    p += 2 + 8 + 8 + 8;
    int32_t aborted = get32(p); p += 4 + (aborted > 0 ? 16 * (size_t)aborted : 0) + 4;
    int32_t length = get32(p); p += 4;
    int32_t at = 0;
    while (length - at >= 61 && get32(p + at + 8) + 12 <= length - at) {
      offsets[part] = get64(p + at) + get32(p + at + 23) + 1;
      done_records += get32(p + at + 57);
      batches[part]++;
      at += get32(p + at + 8) + 12;
    }
    done++; done_bytes += at;
    if (at == 0) offsets[part] = 0; /* the end: from the beginning again */
  }
  double took = (double)(now_us() - began) / 1e6;
  printf("{\"seconds\": %.3f, \"done\": %ld, \"records\": %ld, \"bytes\": %ld, \"client_cpu_seconds\": %.3f", took, (long)done, (long)done_records,
         (long)done_bytes, cpu_seconds() - cpu_before);
  print_samples("latency_us", &whole);
  printf("}\n");
}

/* ---- seen: one producer, and a reader beside it. The reader's requests wait up to half a second for one byte. */
static void put_fetch(Bytes *out, int64_t offset, int wait_ms) {
  size_t from = begin_request(out, 1, 11, 0);
  put32(out, -1); put32(out, wait_ms); put32(out, 1); put32(out, 1 << 20); put8(out, 1); put32(out, 0); put32(out, -1);
  put32(out, 1); put16(out, (int)strlen(topic)); put(out, topic, strlen(topic));
  put32(out, 1); put32(out, 0); put32(out, -1); put64(out, offset); put64(out, -1); put32(out, 1 << 20);
  put32(out, 0); put16(out, 0);
  end_request(out, from);
}
static void send_all(int s, const Bytes *out) {
  for (size_t sent = 0; sent < out->size;) { ssize_t n = send(s, out->at + sent, out->size - sent, MSG_NOSIGNAL); if (n < 0) fail("send", n); sent += (size_t)n; }
}
/* Reads one answer: how many batches of data it has; the offset goes behind them. -1: it has no batch at all. */
static int64_t read_fetched(int reader, int64_t *offset) {
  static uint8_t *answer; static size_t room;
  uint8_t head[4]; read_all(reader, head, 4);
  size_t size = (size_t)get32(head);
  if (size > room) { room = size; answer = realloc(answer, room); }
  read_all(reader, answer, size);
  const uint8_t *b = answer + 8;
  if (get16(b)) fail("Fetch answered", get16(b));
  b += 2 + 4 + 4; b += 2 + get16(b) + 4 + 4;
  if (get16(b)) fail("Fetch of a partition answered", get16(b));
  b += 2 + 8 + 8 + 8;
  int32_t aborted = get32(b); b += 4 + (aborted > 0 ? 16 * (size_t)aborted : 0) + 4;
  int32_t length = get32(b), at = 0; b += 4;
  int64_t data = 0;
  while (length - at >= 61 && get32(b + at + 8) + 12 <= length - at) {
    *offset = get64(b + at) + get32(b + at + 23) + 1;
    if (!(get16(b + at + 21) & 0x20)) data++;
    at += get32(b + at + 8) + 12;
  }
  return at ? data : -1;
}
static void run_seen(void) {
  transactional = 1; partitions = 1; batch_records = txn_records;
  events_fd = epoll_create1(0);
  Peer *peers = calloc((size_t)producers, sizeof *peers);
  for (int k = 0; k < producers; k++) {
    Peer *p = &peers[k];
    snprintf(p->tid, sizeof p->tid, "seen-%d-%d", (int)getpid(), k);
    p->socket = open_socket();
    p->part_count = 1;
    p->parts = calloc(1, sizeof *p->parts);
    make_request(&p->parts[0], p->tid, 0, txn_records);
    struct epoll_event e = {EPOLLIN, {.ptr = p}};
    epoll_ctl(events_fd, EPOLL_CTL_ADD, p->socket, &e);
    ask_init(p);
    while (p->state != RESTING || p->retry_at) turn(peers, k + 1, 1000);
  }
  int reader = open_socket();
  struct epoll_event of_reader = {EPOLLIN, {.ptr = NULL}};
  epoll_ctl(events_fd, EPOLL_CTL_ADD, reader, &of_reader);
  int64_t offset = 0, read_count = 0;
  Bytes out = {0};
  do { out.size = 0; put_fetch(&out, offset, 0); send_all(reader, &out); } while (read_fetched(reader, &offset) >= 0); /* what was there before */
  out.size = 0; put_fetch(&out, offset, 500); send_all(reader, &out);
  double cpu_before = cpu_seconds();
  int64_t began = now_us(), step = (int64_t)(1e6 / rate), due = began;
  stop_at = began + (int64_t)(seconds * 1e6);
  interval_us = step; /* an answer to EndTxn begins nothing by itself */
  while (now_us() < stop_at || read_count < begun_count) {
    if (now_us() > stop_at + 30000000) fail("records are missing after seconds:", 30);
    struct epoll_event ready[64];
    int64_t now = now_us(), next = now + 20000;
    int resting = 0;
    for (int k = 0; k < producers; k++) {
      const Peer *p = &peers[k];
      int64_t at = p->retry_at ? p->retry_at : p->state == HOLDING ? p->began + hold_us : next;
      if (at < next) next = at;
      if (p->state == RESTING && !p->retry_at) resting = 1;
    }
    if (resting && due < stop_at && due < next) next = due;
    wait_us(next - now);
    int n = epoll_wait(events_fd, ready, 64, 0);
    for (int k = 0; k < n; k++) {
      if (ready[k].data.ptr) { receive(ready[k].data.ptr); continue; }
      int64_t data = read_fetched(reader, &offset), at = now_us();
      for (; data > 0; data--) { sample(&whole, at - seen_began[read_count]); sample(&end_only, at - seen_end[read_count]); read_count++; }
      out.size = 0; put_fetch(&out, offset, 500); send_all(reader, &out);
    }
    now = now_us();
    for (int k = 0; k < producers; k++) {
      Peer *p = &peers[k];
      if (p->retry_at && now >= p->retry_at) { p->retry_at = 0; if (p->retry_kind == ENDING) ask_end(p); else { p->next_part = 0; send_part(p, p->next_part++); push(p); } }
      if (p->state == HOLDING && now >= p->began + hold_us) ask_end(p);
      if (p->state == RESTING && !p->retry_at && now >= due && now < stop_at && begun_count < MAX_SEEN) {
        p->number = begun_count++;
        seen_began[p->number] = now;
        begin_txn(p, now);
        due = due + step > now ? due + step : now + 1;
      }
    }
  }
  double took = (double)(now_us() - began) / 1e6;
  printf("{\"seconds\": %.3f, \"done\": %ld, \"records\": %ld, \"bytes\": %ld, \"retries\": %ld, \"client_cpu_seconds\": %.3f", took, (long)read_count,
         (long)(read_count * txn_records), (long)(read_count * txn_records * record_bytes), (long)retries, cpu_seconds() - cpu_before);
  print_samples("latency_us", &whole);
  print_samples("end_us", &end_only);
  print_each("latency_each", &whole);
  print_each("end_each", &end_only);
  printf("}\n");
}

int main(int count, char **words) {
  if (count < 8) { fprintf(stderr, "loadgen txn|produce|fetch HOST PORT TOPIC partitions ...: see the head of its source\n"); return 2; }
  crc_begin();
  srandom(1);
  where.sin_family = AF_INET;
  where.sin_port = htons((uint16_t)atoi(words[3]));
  if (inet_pton(AF_INET, words[2], &where.sin_addr) != 1) { fprintf(stderr, "loadgen: wanted an IPv4 address, found %s\n", words[2]); return 2; }
  topic = words[4];
  partitions = atoi(words[5]);
  if (!strcmp(words[1], "txn") && count == 13) {
    producers = atoi(words[6]); txn_records = atoi(words[7]); record_bytes = atoi(words[8]); batch_records = atoi(words[9]);
    seconds = atof(words[10]); rate = atof(words[11]); first = atoi(words[12]);
    run_produce_side(1);
  } else if (!strcmp(words[1], "produce") && (count == 13 || count == 14)) {
    producers = atoi(words[6]); inflight = atoi(words[7]); record_bytes = atoi(words[8]); batch_records = atoi(words[9]); seconds = atof(words[10]);
    acks = atoi(words[11]); most = atoll(words[12]);
    if (count == 14) batch_file = words[13];
    run_produce_side(0);
  } else if (!strcmp(words[1], "fetch") && count == 8) {
    seconds = atof(words[7]);
    run_fetch(atoi(words[6]));
  } else if (!strcmp(words[1], "seen") && count == 11) {
    producers = atoi(words[5]); txn_records = atoi(words[6]); record_bytes = atoi(words[7]); seconds = atof(words[8]); rate = atof(words[9]);
    hold_us = (int64_t)(atof(words[10]) * 1000);
    run_seen();
  } else if (!strcmp(words[1], "open") && count == 8) {
    producers = atoi(words[6]); record_bytes = atoi(words[7]); txn_records = batch_records = 1; keeps_open = 1;
    run_produce_side(1);
  } else {
    fprintf(stderr, "loadgen: wanted the words that the head of its source names, found %d\n", count);
    return 2;
  }
  return 0;
}
