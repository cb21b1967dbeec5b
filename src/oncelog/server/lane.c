/* The express lane: a plain Produce or a plain commit from its bytes to its answer in one call (decision 0027).
 *
 *   Lane(broker, parts)            what it works on; `parts` names the types and functions that it needs (lane.py)
 *   lane.serve(frames, peer)       the answers of the leading frames that are plain; the others go the long way, in Python
 *
 * A request is plain if every rule says yes and nothing has to be waited for: no refusal, no duplicate, no roll of a segment, no sync
 * before the answer, nobody who watches. All of that is found out before anything is changed, so a request that is not plain has left no
 * trace here: the long way looks at it anew and has the last word. The rules themselves are those of the modules named at each step, and the
 * state is theirs: this file has none but what it was given, and reads and writes the same objects.
 *
 *   Produce v10..13   one partition, one batch, no compression, acks -1 or 1; with a transactional id from v12 on (KIP-890)
 *   EndTxn v5         a commit of partitions that are not groups' offsets
 *
 * Each step returns 1: plain, 0: not plain, -1: a Python exception is set. Objects that a request needs are held by an Arena until it is
 * over, so that no step has to give them back.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "wanted a little-endian machine: numbers of the protocol are swapped always"
#endif

#define HEADER_BYTES 61
#define OVERHEAD_BYTES 12                 /* of a batch before what its length counts */
#define CRC_FROM 21
#define MARKER_BYTES 78
#define MAGIC 2
#define TRANSACTIONAL 0x10
#define MARKER_ATTRIBUTES 0x30            /* transactional, control */
#define MAX_EPOCH 32766
#define MAX_SEQUENCE 0x7fffffff
#define TV2 2
#define MOST_PARTITIONS 32                /* of a transaction that is ended here */
#define MOST_NAME_BYTES 126               /* of a topic in an answer: its length has one byte */
#define WITHOUT_LOCK_BYTES (128 << 10)    /* a larger write lets other threads run meanwhile */
#define SMALL_FRAME_BYTES 1024            /* broker/ring.py: SMALL_BYTES */
#define SORTED_AT 64                      /* broker/ring.py */
#define PACKED_BYTES 44                   /* broker/ring.py: PACKED */
#define PACKED_OBJECTS_BYTES 150          /* the same */

/* ---------------------------------------------------------------------------------------------------------------- names */

#define NAMES(X)                                                                                                          \
  X(_active) X(_by_id) X(_counts) X(_descriptor) X(_disk) X(_easy_bytes) X(_easy_offset) X(_easy_timestamp) X(_entries)   \
  X(_images) X(_is_watched) X(_limit_bytes) X(_log) X(_look_at_tail) X(_notify) X(_number) X(_ongoing) X(_open_bytes)      \
  X(_rings) X(_size) X(_state) X(_store) X(_tail_bytes) X(_taken) X(_times) X(_top) X(_topic_id) X(_topics) X(_turns) X(_unsynced)  \
  X(_used) X(_waits_for_sync) X(_syncs_at_times) X(_stamped) X(_compacted) X(_watchers) X(add) X(append)                  \
  X(appended_bytes) X(at) X(base_offset) X(batches) X(bytes_in) X(bytes_out) X(bytes_since_index) X(changed) X(clear)     \
  X(clock) X(completed) X(config) X(coordinator_epoch) X(counters) X(counts) X(deleted) X(end_txn_reply) X(engine)        \
  X(epoch) X(fail) X(fault) X(fresh) X(high_watermark) X(id) X(index_interval_bytes) X(last_timestamp) X(leader_epoch)   \
  X(left) X(loaded) X(log_end_offset) X(log_start_offset) X(markers) X(max_message_bytes) X(max_ns) X(max_timestamp)      \
  X(max_timestamp_offset) X(message_timestamp_after_max_ms) X(message_timestamp_before_max_ms) X(monotonic_ns) X(move_to_end) X(noted) \
  X(offsets) X(ongoing) X(partition) X(partitions) X(pending) X(positions) X(producers) X(records) X(ring) X(ring_of) X(rpcs)        \
  X(refused) X(segment_bytes) X(sort) X(states) X(stopped) X(sum_ns) X(time_offsets) X(times) X(took) X(topic)                       \
  X(transaction_first_offset) X(transaction_partition_verification_enable) X(transactions) X(transaction_version) X(txn)  \
  X(unstable) X(verifications) X(wall_ms)

#define X(name) static PyObject *S_##name;
NAMES(X)
#undef X
static PyObject *MINUS_ONE, *NO_PARTITIONS;
static PyObject *T_PREPARE, *T_MARKERS, *T_COMPLETE, *T_COMMITTED, *C_MARKERS;

static int begin_names(void) {
#define X(name) if (!(S_##name = PyUnicode_InternFromString(#name))) return -1;
  NAMES(X)
#undef X
  MINUS_ONE = PyLong_FromLong(-1);
  NO_PARTITIONS = PyTuple_New(0);
  T_PREPARE = PyUnicode_InternFromString("txn.phase.prepare");
  T_MARKERS = PyUnicode_InternFromString("txn.phase.markers");
  T_COMPLETE = PyUnicode_InternFromString("txn.prepare_to_complete");
  T_COMMITTED = PyUnicode_InternFromString("txn.committed");
  C_MARKERS = PyUnicode_InternFromString("txn.markers");
  return C_MARKERS && NO_PARTITIONS ? 0 : -1;
}

/* --------------------------------------------------------------------------------------------------------------- CRC-32C
 * Three stretches side by side, for the processor's instruction gives one result per cycle but takes three for each; joined by the
 * tables of what so many zero bytes do to a checksum. */

static uint32_t crc_table[256];
static uint32_t crc_long[4][256], crc_short[4][256];
#define LONG 2048
#define SHORT 256

static uint32_t crc_zeros(uint32_t crc, size_t count) {
  while (count--) crc = crc_table[crc & 255] ^ (crc >> 8);
  return crc;
}
static void crc_join_table(uint32_t table[4][256], size_t count) {
  for (uint32_t n = 0; n < 256; n++)
    for (int k = 0; k < 4; k++) table[k][n] = crc_zeros(n << (8 * k), count);
}
static void crc_begin(void) {
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t c = n;
    for (int k = 0; k < 8; k++) c = c & 1 ? 0x82F63B78u ^ (c >> 1) : c >> 1;
    crc_table[n] = c;
  }
  crc_join_table(crc_long, LONG);
  crc_join_table(crc_short, SHORT);
}
static uint32_t crc_soft(const uint8_t *p, size_t n) {
  uint32_t c = 0xFFFFFFFFu;
  while (n--) c = crc_table[(c ^ *p++) & 255] ^ (c >> 8);
  return c ^ 0xFFFFFFFFu;
}
#if defined(__x86_64__)
static inline uint32_t crc_join(uint32_t table[4][256], uint32_t c) {
  return table[0][c & 255] ^ table[1][c >> 8 & 255] ^ table[2][c >> 16 & 255] ^ table[3][c >> 24];
}
static inline uint64_t word_at(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, 8);
  return word;
}
__attribute__((target("sse4.2"))) static uint32_t crc_hard(const uint8_t *p, size_t n) {
  uint64_t c = 0xFFFFFFFFu;
#define STRETCHES(SIZE, TABLE)                                             \
  while (n >= 3 * (SIZE)) {                                                \
    uint64_t c1 = 0, c2 = 0;                                               \
    for (const uint8_t *to = p + (SIZE); p < to; p += 8) {                 \
      c = __builtin_ia32_crc32di(c, word_at(p));                           \
      c1 = __builtin_ia32_crc32di(c1, word_at(p + (SIZE)));                \
      c2 = __builtin_ia32_crc32di(c2, word_at(p + 2 * (SIZE)));            \
    }                                                                      \
    c = crc_join(TABLE, (uint32_t)c) ^ (uint32_t)c1;                       \
    c = crc_join(TABLE, (uint32_t)c) ^ (uint32_t)c2;                       \
    p += 2 * (SIZE);                                                       \
    n -= 3 * (SIZE);                                                       \
  }
  STRETCHES(LONG, crc_long)
  STRETCHES(SHORT, crc_short)
#undef STRETCHES
  for (; n >= 8; n -= 8, p += 8) c = __builtin_ia32_crc32di(c, word_at(p));
  uint32_t d = (uint32_t)c;
  while (n--) d = __builtin_ia32_crc32qi(d, *p++);
  return d ^ 0xFFFFFFFFu;
}
#elif defined(__aarch64__)
#define HAS_CRC32 (1 << 7)                /* HWCAP_CRC32 */
__attribute__((target("+crc"))) static uint32_t crc_hard(const uint8_t *p, size_t n) {
  uint32_t c = 0xFFFFFFFFu;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    c = __crc32cd(c, word);
  }
  while (n--) c = __crc32cb(c, *p++);
  return c ^ 0xFFFFFFFFu;
}
#endif
static uint32_t crc32c(const uint8_t *p, size_t n) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc_hard(p, n);
#elif defined(__aarch64__)
  if (getauxval(AT_HWCAP) & HAS_CRC32) return crc_hard(p, n);
#endif
  return crc_soft(p, n);
}

/* ----------------------------------------------------------------------------------------------------- bytes, big-endian */

static inline int64_t i64_at(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return (int64_t)__builtin_bswap64(v);
}
static inline int32_t i32_at(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return (int32_t)__builtin_bswap32(v);
}
static inline int16_t i16_at(const uint8_t *p) { return (int16_t)(p[0] << 8 | p[1]); }
static inline uint8_t *put64(uint8_t *p, int64_t v) {
  uint64_t n = __builtin_bswap64((uint64_t)v);
  memcpy(p, &n, 8);
  return p + 8;
}
static inline uint8_t *put32(uint8_t *p, int32_t v) {
  uint32_t n = __builtin_bswap32((uint32_t)v);
  memcpy(p, &n, 4);
  return p + 4;
}
static inline uint8_t *put16(uint8_t *p, int v) {
  p[0] = (uint8_t)(v >> 8);
  p[1] = (uint8_t)v;
  return p + 2;
}
static inline uint8_t *put_unsigned(uint8_t *p, uint32_t v) {
  for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
  *p++ = (uint8_t)v;
  return p;
}
static inline uint8_t *put_varint(uint8_t *p, int32_t v) { return put_unsigned(p, (uint32_t)v << 1 ^ (uint32_t)(v >> 31)); }

typedef struct {                          /* walks over a request; `bad` once it went over the end */
  const uint8_t *p, *end;
  bool bad;
} Reader;

static inline bool has(Reader *r, size_t count) {
  if ((size_t)(r->end - r->p) >= count) return true;
  r->bad = true;
  return false;
}
static inline int read8(Reader *r) { return has(r, 1) ? *r->p++ : 0; }
static inline int16_t read16(Reader *r) { return has(r, 2) ? (r->p += 2, i16_at(r->p - 2)) : 0; }
static inline int32_t read32(Reader *r) { return has(r, 4) ? (r->p += 4, i32_at(r->p - 4)) : 0; }
static inline int64_t read64(Reader *r) { return has(r, 8) ? (r->p += 8, i64_at(r->p - 8)) : 0; }
static inline uint64_t read_unsigned(Reader *r, int most_bits) {
  uint64_t value = 0;
  for (int shift = 0; shift < most_bits; shift += 7) {
    if (!has(r, 1)) return 0;
    uint8_t byte = *r->p++;
    value |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) {
      if (most_bits == 32 && value > UINT32_MAX) break;
      if (shift == 63 && byte > 1) break;
      return value;
    }
  }
  r->bad = true;                          /* too long: the long way says so */
  return 0;
}
/* A compact string or bytes: where it is, and its size; -1 for null. */
static inline const uint8_t *read_compact(Reader *r, int64_t *size) {
  uint64_t raw = read_unsigned(r, 32);
  *size = (int64_t)raw - 1;
  if (r->bad || *size <= 0) return r->p;
  const uint8_t *at = r->p;
  if (has(r, (size_t)*size)) r->p += *size;
  return at;
}
static inline bool no_tags(Reader *r) { return read8(r) == 0 && !r->bad; }

/* ------------------------------------------------------------------------------------------------------ Python's objects */

#define HELD 2048

typedef struct {                          /* references of one request */
  PyObject *held[HELD];
  int count;
} Arena;

static PyObject *hold(Arena *a, PyObject *object) {
  if (object == NULL) return NULL;
  if (a->count == HELD) {
    Py_DECREF(object);
    PyErr_SetString(PyExc_SystemError, "lane: more objects than a request may hold");
    return NULL;
  }
  a->held[a->count++] = object;
  return object;
}
static void let_go(Arena *a) {
  while (a->count) Py_DECREF(a->held[--a->count]);
}
static inline PyObject *get(Arena *a, PyObject *of, PyObject *name) { return hold(a, PyObject_GetAttr(of, name)); }
#define GET(variable, of, name)                  \
  PyObject *variable = get(a, of, S_##name);     \
  if (variable == NULL) return -1

static int number(PyObject *of, PyObject *name, int64_t *value) {
  PyObject *found = PyObject_GetAttr(of, name);
  if (found == NULL) return -1;
  *value = PyLong_AsLongLong(found);
  Py_DECREF(found);
  return *value == -1 && PyErr_Occurred() ? -1 : 0;
}
#define NUMBER(variable, of, name)                              \
  int64_t variable;                                             \
  if (number(of, S_##name, &variable) < 0) return -1

static int set_number(PyObject *of, PyObject *name, int64_t value) {
  PyObject *made = PyLong_FromLongLong(value);
  if (made == NULL) return -1;
  int done = PyObject_SetAttr(of, name, made);
  Py_DECREF(made);
  return done;
}
#define SET(of, name, value) \
  if (set_number(of, S_##name, value) < 0) return -1
#define ASSIGN(of, name, object) \
  if (PyObject_SetAttr(of, S_##name, object) < 0) return -1

static int add_to(PyObject *of, PyObject *name, int64_t count) {
  int64_t value;
  return number(of, name, &value) < 0 ? -1 : set_number(of, name, value + count);
}
#define ADD(of, name, count) \
  if (add_to(of, S_##name, count) < 0) return -1

/* 1 if the attribute is this very object. */
static int is(PyObject *of, PyObject *name, PyObject *wanted) {
  PyObject *found = PyObject_GetAttr(of, name);
  if (found == NULL) return -1;
  Py_DECREF(found);
  return found == wanted;
}
#define ONLY_IF(of, name, wanted)              \
  do {                                         \
    int same_one = is(of, S_##name, wanted);   \
    if (same_one <= 0) return same_one;                  \
  } while (0)
#define PLAIN(condition) \
  if (!(condition)) return 0
#define DO(step)                 \
  do {                           \
    int so = (step);             \
    if (so <= 0) return so;      \
  } while (0)
#define MUST(condition) \
  if (!(condition)) return -1

/* A borrowed value; NULL without an exception if it is not there. */
static PyObject *look_up(PyObject *dict, PyObject *key) { return PyDict_GetItemWithError(dict, key); }

/* A named tuple of our own types: they add nothing to a tuple. */
static PyObject *new_tuple(PyTypeObject *type, Py_ssize_t size) { return type->tp_alloc(type, size); }
static inline void fill(PyObject *tuple, Py_ssize_t at, PyObject *item) {
  PyTuple_SET_ITEM(tuple, at, Py_NewRef(item));
}

/* ------------------------------------------------------------------------------------------------------------------ lane */

enum { NAME, PRODUCER, TIMEOUT, PREVIOUS_ID, NEXT_ID, NEXT_EPOCH, LAST_EPOCH, STATE, PARTITIONS, START, UPDATE, CLIENT_VERSION,
       TXN_FIELDS };                      /* of txn.state.Txn */
enum { EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, STATES };

typedef struct {
  PyObject_HEAD
  PyObject *broker, *topics, *topics_by_id;
  PyObject *coordinator, *entries, *ongoing, *txn_log, *counters, *ring, *rings, *fresh;
  PyObject *wall_ms, *monotonic_ns, *partition_of, *storage_fault;
  PyObject *rpcs, *rpc_produce, *rpc_end;  /* the last two when first needed: what was never asked for is not counted */
  PyObject *states[STATES];
  PyTypeObject *partition_type, *file_type, *txn_type, *producer_type, *cached_type, *producer_state_type;
  bool ends;                              /* EndTxn answers when all is complete, by the new protocol */
  unsigned long long served, passed;
  int64_t number, apart_us, noted, noted_bytes; /* of what was kept for the trace: the last number; since `Ring.noted` was told */
} Lane;

typedef struct {                          /* a partition that something is to be appended to */
  PyObject *partition, *store, *state, *segment, *log, *config;
  int64_t leader_epoch, end, size, easy_bytes, easy_timestamp, easy_offset;
} Place;

typedef struct {                          /* of the batch that a client sent */
  const uint8_t *data;
  int64_t size, base_timestamp, max_timestamp, producer_id;
  int32_t crc, last_offset_delta, base_sequence, count;
  int16_t attributes, producer_epoch;
} Batch;

typedef struct {
  PyObject *frame, *peer;
  const uint8_t *data;
  Py_ssize_t size;
  int version;
  int32_t correlation_id;
  int64_t began_ns, now_ms;
  int64_t kept_bytes;                     /* of the frame, for the trace; -1: all */
  PyObject *name;                         /* the transactional id, for the trace */
  uint8_t answer[256];
  Py_ssize_t answer_bytes;
} Request;

static int call_number(PyObject *callable, int64_t *value) {
  PyObject *found = PyObject_CallNoArgs(callable);
  if (found == NULL) return -1;
  *value = PyLong_AsLongLong(found);
  Py_DECREF(found);
  return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

/* ------------------------------------------------------------------- a partition (engine/classic/partition.py, segment.py) */

/* Appends there are done when they are written, and nothing has to be looked at first. */
static int open_place(Lane *l, Arena *a, PyObject *partition, Place *p) {
  PLAIN(Py_TYPE(partition) == l->partition_type);
  p->partition = partition;
  ONLY_IF(partition, loaded, Py_True);
  ONLY_IF(partition, deleted, Py_False);
  ONLY_IF(partition, _waits_for_sync, Py_False);
  ONLY_IF(partition, _syncs_at_times, Py_False);
  ONLY_IF(partition, _stamped, Py_False);
  GET(store, partition, _store);
  ONLY_IF(store, stopped, Py_False);
  GET(segment, partition, _active);
  PLAIN(segment != Py_None);
  GET(log, segment, _log);
  PLAIN(log != Py_None);
  GET(state, partition, _state);
  GET(config, partition, config);
  GET(completed, state, completed);
  Py_ssize_t ended = PyObject_Size(completed);
  MUST(ended >= 0);
  PLAIN(ended == 0);
  p->store = store;
  p->segment = segment;
  p->log = log;
  p->state = state;
  p->config = config;
  MUST(number(partition, S_leader_epoch, &p->leader_epoch) == 0);
  MUST(number(partition, S__easy_bytes, &p->easy_bytes) == 0);
  MUST(number(partition, S__easy_timestamp, &p->easy_timestamp) == 0);
  MUST(number(partition, S__easy_offset, &p->easy_offset) == 0);
  MUST(number(segment, S__size, &p->size) == 0);
  MUST(number(state, S_log_end_offset, &p->end) == 0);
  return p->size > 0;
}

/* Whether so many bytes more cannot fill the segment (`ClassicPartition._write`), and the batch is not too large. */
static int fits(Place *p, int64_t size, int64_t largest, int64_t last_offset, int64_t max_timestamp) {
  NUMBER(limit, p->config, max_message_bytes);
  return largest <= limit && p->size + size <= p->easy_bytes && max_timestamp <= p->easy_timestamp &&
         last_offset <= p->easy_offset;
}

static ssize_t write_at(int descriptor, struct iovec *pieces, int count, int64_t at, int *error) {
  ssize_t done;
  do done = pwritev(descriptor, pieces, count, at);
  while (done < 0 && errno == EINTR);
  *error = errno;
  return done;
}
/* The store is told of a fault, which goes on. */
static int tell_store(Lane *l, Place *p) {
  if (!PyErr_ExceptionMatches(l->storage_fault)) return -1;
  PyObject *type, *fault, *trace;
  PyErr_Fetch(&type, &fault, &trace);
  PyErr_NormalizeException(&type, &fault, &trace);
  PyObject *told = PyObject_CallMethodOneArg(p->store, S_fail, fault);
  Py_XDECREF(told);
  PyErr_Restore(type, fault, trace);
  return -1;
}

/* The bytes into the file: as RealFile.append where nothing is unusual, else by that itself. */
static int write_pieces(Lane *l, Arena *a, Place *p, struct iovec *pieces, int count, int64_t size) {
  if (Py_TYPE(p->log) == l->file_type) {
    GET(disk, p->log, _disk);
    NUMBER(at, p->log, _size);
    NUMBER(descriptor, p->log, _descriptor);
    int healthy = is(disk, S_fault, Py_None);
    MUST(healthy >= 0);
    if (healthy && at >= 0 && descriptor >= 0) {
      ASSIGN(p->log, _used, Py_True);
      ssize_t done;
      int error;
      if (size > WITHOUT_LOCK_BYTES) {
        Py_BEGIN_ALLOW_THREADS
        done = write_at((int)descriptor, pieces, count, at, &error);
        Py_END_ALLOW_THREADS
      } else {
        done = write_at((int)descriptor, pieces, count, at, &error);
      }
      if (done == size) {
        SET(p->log, _size, at + size);
        return 1;
      }                                   /* a short write is begun again: `append` goes on behind what the disk takes */
      if (done < 0) {                     /* a refused one is never tried again */
        PyObject *number = hold(a, PyLong_FromLong(error));
        MUST(number != NULL);
        PyObject *none = PyObject_CallMethodOneArg(p->log, S_refused, number);
        Py_XDECREF(none);
        return tell_store(l, p);
      }
    }
  }
  PyObject *given = hold(a, PyTuple_New(count));
  MUST(given != NULL);
  for (int n = 0; n < count; n++) {
    PyObject *piece = PyBytes_FromStringAndSize(pieces[n].iov_base, (Py_ssize_t)pieces[n].iov_len);
    MUST(piece != NULL);
    PyTuple_SET_ITEM(given, n, piece);
  }
  PyObject *none = PyObject_CallMethodOneArg(p->log, S_append, given);
  if (none == NULL) return tell_store(l, p);
  Py_DECREF(none);
  return 1;
}

static int push(Arena *a, PyObject *of, PyObject *name, int64_t value) {
  PyObject *array = get(a, of, name);
  MUST(array != NULL);
  PyObject *item = hold(a, PyLong_FromLongLong(value));
  MUST(item != NULL);
  PyObject *none = PyObject_CallMethodOneArg(array, S_append, item);
  MUST(none != NULL);
  Py_DECREF(none);
  return 1;
}

/* Segment.append and what ClassicPartition._write counts. */
static int write_batch(Lane *l, Arena *a, Place *p, struct iovec *pieces, int pieces_count, int64_t size, int64_t records,
                       int64_t last_offset, int64_t max_timestamp) {
  DO(write_pieces(l, a, p, pieces, pieces_count, size));
  PyObject *segment = p->segment;
  int64_t position = p->size;
  p->size = position + size;
  SET(segment, _size, p->size);
  NUMBER(highest, segment, max_timestamp);
  NUMBER(unindexed, segment, bytes_since_index);
  NUMBER(interval, p->config, index_interval_bytes);
  if (max_timestamp > highest) {
    SET(segment, max_timestamp, max_timestamp);
    SET(segment, max_timestamp_offset, last_offset);
    highest = max_timestamp;
  }
  if (unindexed > interval) {
    NUMBER(base, segment, base_offset);
    NUMBER(highest_at, segment, max_timestamp_offset);
    DO(push(a, segment, S_offsets, last_offset - base));
    DO(push(a, segment, S_positions, position));
    GET(times, segment, times);
    Py_ssize_t count = PyObject_Size(times);
    MUST(count >= 0);
    int64_t newest = -1;
    if (count) {
      PyObject *last = hold(a, PySequence_GetItem(times, count - 1));
      MUST(last != NULL);
      newest = PyLong_AsLongLong(last);
    }
    if (highest > newest) {
      DO(push(a, segment, S_times, highest));
      DO(push(a, segment, S_time_offsets, highest_at - base));
    }
    unindexed = 0;
  }
  SET(segment, bytes_since_index, unindexed + size);
  GET(unsynced, p->partition, _unsynced);
  MUST(PyDict_SetItem(unsynced, segment, Py_None) == 0);
  ASSIGN(p->partition, changed, Py_True);
  ADD(p->store, batches, 1);
  ADD(p->store, records, records);
  ADD(p->store, appended_bytes, size);
  return 1;
}

/* The log end is where the batch ends; so is the high watermark, for nothing waits for a sync. */
static int move_end(Arena *a, Place *p, int64_t end) {
  p->end = end;
  PyObject *value = hold(a, PyLong_FromLongLong(end));
  MUST(value != NULL);
  ASSIGN(p->state, log_end_offset, value);
  ASSIGN(p->state, high_watermark, value);
  GET(watchers, p->partition, _watchers);
  if (PyList_GET_SIZE(watchers) == 0) return 1;
  PyObject *none = PyObject_CallMethodNoArgs(p->partition, S__notify);
  MUST(none != NULL);
  Py_DECREF(none);
  return 1;
}

/* -------------------------------------------------------------------------------- what a client sent (log/validate.py) */

static int read_batch(const uint8_t *data, int64_t size, Batch *b) {
  PLAIN(size > HEADER_BYTES && i64_at(data) == 0 && (int64_t)i32_at(data + 8) + OVERHEAD_BYTES == size && data[16] == MAGIC);
  b->data = data;
  b->size = size;
  b->crc = i32_at(data + 17);
  b->attributes = i16_at(data + 21);
  b->last_offset_delta = i32_at(data + 23);
  b->base_timestamp = i64_at(data + 27);
  b->max_timestamp = i64_at(data + 35);
  b->producer_id = i64_at(data + 43);
  b->producer_epoch = i16_at(data + 51);
  b->base_sequence = i32_at(data + 53);
  b->count = i32_at(data + 57);
  PLAIN((b->attributes & ~TRANSACTIONAL) == 0);
  PLAIN(b->count > 0 && b->last_offset_delta == b->count - 1);
  PLAIN(b->producer_id < 0 ? !b->attributes : b->base_sequence >= 0 && b->producer_epoch >= 0);
  PLAIN(b->base_timestamp >= 0);
  return crc32c(data + CRC_FROM, (size_t)(size - CRC_FROM)) == (uint32_t)b->crc;
}

/* `validate.summarize`: every record, numbered from 0, and together they fill the batch. */
static int walk_records(const Batch *b, int64_t *lowest, int64_t *highest, bool *null_key) {
  Reader r = {b->data + HEADER_BYTES, b->data + b->size, false};
  *lowest = INT64_MAX;
  *highest = INT64_MIN;
  *null_key = false;
  for (int64_t index = 0; index < b->count; index++) {
    uint64_t raw = read_unsigned(&r, 32);
    PLAIN(!r.bad && !(raw & 1) && raw >> 1 <= (uint64_t)(r.end - r.p));
    Reader record = {r.p, r.p + (raw >> 1), false};
    r.p = record.end;
    read8(&record);                       /* attributes, of which no bit has a meaning */
    raw = read_unsigned(&record, 64);
    int64_t delta = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    if (delta < *lowest) *lowest = delta;
    if (delta > *highest) *highest = delta;
    PLAIN(read_unsigned(&record, 32) == (uint64_t)index << 1);
    raw = read_unsigned(&record, 32);     /* key */
    if (raw & 1) *null_key = true;
    else if (has(&record, raw >> 1)) record.p += raw >> 1;
    raw = read_unsigned(&record, 32);     /* value */
    if (!(raw & 1) && has(&record, raw >> 1)) record.p += raw >> 1;
    PLAIN(no_tags(&record) && record.p == record.end);  /* headers are walked over in Python */
  }
  return r.p == r.end;
}

/* `validate.validate` for a batch that is refused by none of its rows and stored as it is. */
static int validate(Lane *l, Place *p, const Batch *b, int64_t now) {
  (void)l;
  int64_t lowest, highest;
  bool null_key;
  DO(walk_records(b, &lowest, &highest, &null_key));
  PLAIN(!__builtin_add_overflow(lowest, b->base_timestamp, &lowest) && !__builtin_add_overflow(highest, b->base_timestamp, &highest));
  PLAIN(lowest >= 0 && highest == b->max_timestamp);
  NUMBER(after, p->config, message_timestamp_after_max_ms);
  NUMBER(before, p->config, message_timestamp_before_max_ms);
  NUMBER(segment_bytes, p->config, segment_bytes);
  PLAIN(highest - now <= after && now - lowest <= before && b->size <= segment_bytes);
  if (null_key) ONLY_IF(p->partition, _compacted, Py_False);
  return 1;
}

/* ------------------------------------------------------------------------------------ what a producer may do (log/state.py) */

typedef struct {
  PyObject *id, *state;                   /* of the producer; NULL: not known here */
  int64_t epoch, first_offset;            /* of its transaction; -1: none is ongoing */
  bool opens;                             /* this batch begins its transaction here, so the coordinator is asked first */
} Known;

/* `decide_append` where it accepts. */
static int may_append(Arena *a, Place *p, const Batch *b, Known *known) {
  known->id = hold(a, PyLong_FromLongLong(b->producer_id));
  MUST(known->id != NULL);
  known->state = NULL;
  known->epoch = known->first_offset = -1;
  known->opens = false;
  if (b->producer_id < 0) return 1;
  GET(verifications, p->state, verifications);
  if (PyDict_GET_SIZE(verifications)) {
    PLAIN(look_up(verifications, known->id) == NULL);
    MUST(!PyErr_Occurred());
  }
  GET(producers, p->state, producers);
  PyObject *producer = look_up(producers, known->id);
  if (producer == NULL) {
    MUST(!PyErr_Occurred());
    known->opens = b->attributes & TRANSACTIONAL;
    return !known->opens || b->base_sequence == 0;
  }
  known->state = hold(a, Py_NewRef(producer));
  MUST(known->state != NULL);
  MUST(number(producer, S_epoch, &known->epoch) == 0);
  MUST(number(producer, S_transaction_first_offset, &known->first_offset) == 0);
  bool ongoing = known->first_offset >= 0, transactional = b->attributes & TRANSACTIONAL;
  PLAIN(b->producer_epoch >= known->epoch && known->epoch >= 0);
  PLAIN(!ongoing || (transactional && b->producer_epoch == known->epoch));
  known->opens = transactional && !ongoing;
  if (b->producer_epoch != known->epoch) return b->base_sequence == 0;
  GET(batches, producer, batches);
  Py_ssize_t count = PyObject_Size(batches);
  MUST(count >= 0);
  if (count == 0) return b->base_sequence == 0;
  PyObject *newest = hold(a, PySequence_GetItem(batches, count - 1));
  MUST(newest != NULL);
  int64_t last = PyLong_AsLongLong(PyTuple_GET_ITEM(newest, 1));
  return b->base_sequence == (int32_t)((last + 1) & MAX_SEQUENCE);
}

/* `evolve` for a data batch. */
static int evolve(Lane *l, Arena *a, Place *p, const Batch *b, Known *known) {
  int64_t base = p->end, last_offset = base + b->last_offset_delta;
  if (b->producer_id < 0) return 1;
  bool transactional = b->attributes & TRANSACTIONAL;
  if (transactional) {
    GET(open_bytes, p->partition, _open_bytes);
    PyObject *before = look_up(open_bytes, known->id);
    MUST(before != NULL || !PyErr_Occurred());
    int64_t count = before == NULL ? 0 : PyLong_AsLongLong(before);
    PyObject *now = hold(a, PyLong_FromLongLong(count + b->size));
    MUST(now != NULL && PyDict_SetItem(open_bytes, known->id, now) == 0);
  }
  PyObject *producer = known->state;
  if (producer == NULL) {
    PyObject *epoch = hold(a, PyLong_FromLong(b->producer_epoch));
    MUST(epoch != NULL);
    PyObject *given[] = {known->id, epoch};
    producer = hold(a, PyObject_Vectorcall((PyObject *)l->producer_state_type, given, 2, NULL));
    MUST(producer != NULL);
    GET(producers, p->state, producers);
    MUST(PyDict_SetItem(producers, known->id, producer) == 0);
  }
  GET(batches, producer, batches);
  if (known->state != NULL && known->epoch != b->producer_epoch) {
    SET(producer, epoch, b->producer_epoch);
    PyObject *none = PyObject_CallMethodNoArgs(batches, S_clear);
    MUST(none != NULL);
    Py_DECREF(none);
  }
  int64_t fields[] = {b->base_sequence, ((int64_t)b->base_sequence + b->last_offset_delta) & MAX_SEQUENCE, last_offset,
                      b->last_offset_delta, b->max_timestamp};
  PyObject *cached = hold(a, new_tuple(l->cached_type, 5));
  MUST(cached != NULL);
  for (int n = 0; n < 5; n++) {
    PyObject *field = PyLong_FromLongLong(fields[n]);
    MUST(field != NULL);
    PyTuple_SET_ITEM(cached, n, field);
  }
  PyObject *none = PyObject_CallMethodOneArg(batches, S_append, cached);
  MUST(none != NULL);
  Py_DECREF(none);
  SET(producer, last_timestamp, b->max_timestamp);
  if (transactional && known->first_offset < 0) {
    PyObject *first = hold(a, PyLong_FromLongLong(base));
    MUST(first != NULL);
    ASSIGN(producer, transaction_first_offset, first);
    GET(ongoing, p->state, ongoing);
    GET(unstable, p->state, unstable);
    MUST(PyDict_SetItem(ongoing, first, known->id) == 0 && PyDict_SetItem(unstable, first, known->id) == 0);
  }
  return 1;
}

/* -------------------------------------------------- a transactional id and its record (txn/, broker/transaction_log.py) */

typedef struct {
  PyObject *entry, *txn, *name;
  const char *text;                       /* the name's bytes */
  Py_ssize_t text_bytes;
  Place place;                            /* its partition of __transaction_state */
  PyObject *image;                        /* the states of that partition, by id */
  int64_t producer_id;
  int epoch;
  int state;
} Id;

static int64_t txn_number(const Id *id, int field) { return PyLong_AsLongLong(PyTuple_GET_ITEM(id->txn, field)); }

/* An id that nobody else is busy with, and whose record can be written at once. */
static int open_id(Lane *l, Arena *a, PyObject *name, Id *id) {
  PLAIN(l->ends);
  ONLY_IF(l->coordinator, _is_watched, Py_False);
  PyObject *entry = look_up(l->entries, name);
  if (entry == NULL) return PyErr_Occurred() ? -1 : 0;
  id->entry = hold(a, Py_NewRef(entry));
  MUST(id->entry != NULL);
  ONLY_IF(entry, pending, Py_None);
  GET(turns, entry, _turns);
  if (turns != Py_None) ONLY_IF(turns, _taken, Py_False);
  GET(txn, entry, txn);
  PLAIN(Py_TYPE(txn) == l->txn_type && PyTuple_GET_SIZE(txn) == TXN_FIELDS);
  id->txn = txn;
  id->name = PyTuple_GET_ITEM(txn, NAME);
  id->text = PyUnicode_AsUTF8AndSize(id->name, &id->text_bytes);
  MUST(id->text != NULL);
  for (id->state = 0; id->state < STATES && l->states[id->state] != PyTuple_GET_ITEM(txn, STATE);) id->state++;
  PLAIN(id->state < STATES);
  PLAIN(txn_number(id, NEXT_ID) == -1 && txn_number(id, NEXT_EPOCH) == -1);
  PyObject *producer = PyTuple_GET_ITEM(txn, PRODUCER);
  int64_t epoch;
  MUST(number(producer, S_id, &id->producer_id) == 0 && number(producer, S_epoch, &epoch) == 0);
  id->epoch = (int)epoch;
  PLAIN(id->producer_id >= 0 && epoch >= 0);

  PyObject *topic = hold(a, Py_XNewRef(PyDict_GetItemString(l->topics, "__transaction_state")));
  PLAIN(topic != NULL);
  GET(partitions, topic, partitions);
  GET(topic_id, topic, id);
  GET(known_id, l->txn_log, _topic_id);
  int same = PyObject_RichCompareBool(topic_id, known_id, Py_EQ);
  MUST(same >= 0);
  PLAIN(same && PyList_CheckExact(partitions));
  PyObject *count = hold(a, PyLong_FromSsize_t(PyList_GET_SIZE(partitions)));
  MUST(count != NULL);
  PyObject *given[] = {id->name, count};
  PyObject *at = hold(a, PyObject_Vectorcall(l->partition_of, given, 2, NULL));
  MUST(at != NULL);
  Py_ssize_t index = PyLong_AsSsize_t(at);
  GET(images, l->txn_log, _images);
  PLAIN(index >= 0 && index < PyList_GET_SIZE(partitions) && index < PyList_GET_SIZE(images));
  GET(states, PyList_GET_ITEM(images, index), states);
  GET(top, states, _top);
  id->image = top;
  return open_place(l, a, PyList_GET_ITEM(partitions, index), &id->place);
}

#define FIXED_BYTES 17
#define RECORD_ROOM 4096                  /* of a value with its key: more partitions go the long way */

/* `stored.encode_txn`, version 1, by the new protocol: the size of the value. 0: there is no room. */
static size_t encode_txn(Arena *a, PyObject *txn, int state, uint8_t *out, size_t room, bool *failed) {
  PyObject *producer = PyTuple_GET_ITEM(txn, PRODUCER), *partitions = PyTuple_GET_ITEM(txn, PARTITIONS);
  int64_t id, epoch;
  *failed = true;
  if (number(producer, S_id, &id) < 0 || number(producer, S_epoch, &epoch) < 0) return 0;
  uint8_t *p = put16(out, 1), *end = out + room - 48;
  p = put64(p, id);
  p = put16(p, (int)epoch);
  p = put32(p, (int32_t)PyLong_AsLong(PyTuple_GET_ITEM(txn, TIMEOUT)));
  *p++ = (uint8_t)state;
  Py_ssize_t count = PyTuple_GET_SIZE(partitions), topics = 0;
  PyObject *names[MOST_PARTITIONS + 1];
  int64_t numbers[MOST_PARTITIONS + 1];
  *failed = false;
  if (count > MOST_PARTITIONS) return 0;
  for (Py_ssize_t n = 0; n < count; n++) {
    *failed = true;
    if ((names[n] = get(a, PyTuple_GET_ITEM(partitions, n), S_topic)) == NULL) return 0;
    if (number(PyTuple_GET_ITEM(partitions, n), S_partition, &numbers[n]) < 0) return 0;
    int other = n == 0 ? 1 : PyObject_RichCompareBool(names[n], names[n - 1], Py_NE);
    if (other < 0) return 0;
    topics += other;
    if (!other) names[n] = names[n - 1];
  }
  *failed = false;
  p = put_unsigned(p, (uint32_t)topics + 1);     /* they are sorted: a topic's partitions stand together */
  for (Py_ssize_t n = 0; n < count;) {
    Py_ssize_t last = n, size;
    while (last + 1 < count && names[last + 1] == names[n]) last++;
    const char *text = PyUnicode_AsUTF8AndSize(names[n], &size);
    if (text == NULL) return *failed = true, 0;
    if (p + size + 4 * (last - n + 1) + 12 > end) return 0;
    p = put_unsigned(p, (uint32_t)size + 1);
    memcpy(p, text, (size_t)size);
    p = put_unsigned(p + size, (uint32_t)(last - n + 1) + 1);
    for (; n <= last; n++) p = put32(p, (int32_t)numbers[n]);
    *p++ = 0;
  }
  if (p > end) return 0;
  p = put64(p, PyLong_AsLongLong(PyTuple_GET_ITEM(txn, UPDATE)));
  p = put64(p, PyLong_AsLongLong(PyTuple_GET_ITEM(txn, START)));
  *p++ = 2;                               /* tags: the previous producer id, and the client's version */
  *p++ = 0;
  *p++ = 8;
  p = put64(p, PyLong_AsLongLong(PyTuple_GET_ITEM(txn, PREVIOUS_ID)));
  const uint8_t version[] = {2, 2, 0, TV2};
  memcpy(p, version, 4);
  return (size_t)(p + 4 - out);
}

typedef struct {                          /* a record of __transaction_state, ready to be written */
  PyObject *txn, *value;
  uint8_t *data;                          /* a batch, but for base offset, leader epoch and CRC, which do not count */
  size_t size;
  uint8_t bytes[RECORD_ROOM + 512];
} Record;

/* `stored.encode_batch`. The base offset and leader epoch are not under the CRC. */
static int encode_record(Arena *a, const Id *id, PyObject *txn, int state, int64_t now, Record *record) {
  uint8_t value[RECORD_ROOM];
  bool failed;
  size_t size = encode_txn(a, txn, state, value, sizeof value, &failed);
  MUST(!failed);
  PLAIN(size > 0 && id->text_bytes <= 256);
  record->txn = txn;
  record->value = hold(a, PyBytes_FromStringAndSize((char *)value, (Py_ssize_t)size));
  MUST(record->value != NULL);
  uint8_t body[RECORD_ROOM + 320], *p = body;
  *p++ = 0;                               /* attributes, timestamp delta, offset delta */
  *p++ = 0;
  *p++ = 0;
  p = put_varint(p, (int32_t)id->text_bytes + 4);
  p = put16(p, 0);
  p = put16(p, (int)id->text_bytes);
  memcpy(p, id->text, (size_t)id->text_bytes);
  p = put_varint(p + id->text_bytes, (int32_t)size);
  memcpy(p, value, size);
  p += size;
  *p++ = 0;                               /* no headers */
  size_t body_size = (size_t)(p - body);
  uint8_t *out = record->bytes + HEADER_BYTES;
  out = put_varint(out, (int32_t)body_size);
  memcpy(out, body, body_size);
  record->size = (size_t)(out + body_size - record->bytes);
  record->data = record->bytes;
  out = record->bytes + CRC_FROM;
  out = put16(out, 0);
  out = put32(out, 0);
  out = put64(out, now);
  out = put64(out, now);
  out = put64(out, -1);
  out = put16(out, -1);
  out = put32(out, -1);
  put32(out, 1);
  put32(record->bytes + 8, (int32_t)record->size - OVERHEAD_BYTES);
  record->bytes[16] = MAGIC;
  put32(record->bytes + 17, (int32_t)crc32c(record->bytes + CRC_FROM, record->size - CRC_FROM));
  return 1;
}

/* `TransactionLog.begin_write`, and what the coordinator does behind it: the record is written, then it is the state. */
static int write_record(Lane *l, Arena *a, Id *id, Record *record, int64_t now) {
  Place *p = &id->place;
  put64(record->data, p->end);
  put32(record->data + 12, (int32_t)p->leader_epoch);
  struct iovec piece = {record->data, record->size};
  DO(write_batch(l, a, p, &piece, 1, (int64_t)record->size, 1, p->end, now));
  DO(move_end(a, p, p->end + 1));
  MUST(PyDict_SetItem(id->image, id->name, record->value) == 0);
  NUMBER(tail, l->txn_log, _tail_bytes);
  NUMBER(limit, l->txn_log, _limit_bytes);
  tail += (int64_t)record->size;
  SET(l->txn_log, _tail_bytes, tail);
  if (tail >= limit) {
    PyObject *none = PyObject_CallMethodNoArgs(l->txn_log, S__look_at_tail);
    MUST(none != NULL);
    Py_DECREF(none);
  }
  ASSIGN(id->entry, txn, record->txn);
  return 1;
}

/* A copy of the id's state with other fields; `producer` NULL: the same. */
static PyObject *next_txn(Lane *l, Arena *a, const Id *id, PyObject *txn, PyObject *producer, int state, PyObject *partitions,
                          int64_t start, int64_t update, int64_t last_epoch) {
  PyObject *made = hold(a, new_tuple(l->txn_type, TXN_FIELDS));
  if (made == NULL) return NULL;
  for (int n = 0; n < TXN_FIELDS; n++) fill(made, n, PyTuple_GET_ITEM(txn, n));
#define PUT(field, value)                                                \
  do {                                                                   \
    PyObject *item = (value);                                            \
    if (item == NULL) return NULL;                                       \
    PyObject *old = PyTuple_GET_ITEM(made, field);                       \
    PyTuple_SET_ITEM(made, field, item);                                 \
    Py_DECREF(old);                                                      \
  } while (0)
  if (producer != NULL) PUT(PRODUCER, Py_NewRef(producer));
  PUT(PREVIOUS_ID, PyLong_FromLongLong(id->producer_id));
  PUT(LAST_EPOCH, PyLong_FromLongLong(last_epoch));
  PUT(STATE, Py_NewRef(l->states[state]));
  PUT(PARTITIONS, Py_NewRef(partitions));
  PUT(START, PyLong_FromLongLong(start));
  PUT(UPDATE, PyLong_FromLongLong(update));
  PUT(CLIENT_VERSION, PyLong_FromLong(TV2));
#undef PUT
  return made;
}

/* `decide_add` for one partition, by the implicit add of Produce: 1 with a record to write, or 1 without where it is in already. */
static int plan_add(Lane *l, Arena *a, Id *id, PyObject *where, int64_t now, Record *record, bool *writes) {
  PyObject *partitions = PyTuple_GET_ITEM(id->txn, PARTITIONS), *added;
  *writes = true;
  PLAIN(id->state != PREPARE_COMMIT && id->state != PREPARE_ABORT);
  int64_t start = now;
  if (id->state == ONGOING) {
    Py_ssize_t count = PyTuple_GET_SIZE(partitions);
    for (Py_ssize_t n = 0; n < count; n++) {
      int same = PyObject_RichCompareBool(PyTuple_GET_ITEM(partitions, n), where, Py_EQ);
      MUST(same >= 0);
      if (same) return *writes = false, 1;
    }
    PyObject *list = hold(a, PySequence_List(partitions));
    MUST(list != NULL && PyList_Append(list, where) == 0 && PyList_Sort(list) == 0);
    added = hold(a, PyList_AsTuple(list));
    start = txn_number(id, START);
  } else {
    added = hold(a, PyTuple_Pack(1, where));
  }
  MUST(added != NULL);
  PyObject *txn = next_txn(l, a, id, id->txn, NULL, ONGOING, added, start, now, txn_number(id, LAST_EPOCH));
  MUST(txn != NULL);
  DO(encode_record(a, id, txn, ONGOING, now, record));
  return fits(&id->place, (int64_t)record->size, (int64_t)record->size, id->place.end, now);
}

/* --------------------------------------------------------------------------------------- Produce (handlers/produce.py) */

static uint8_t *begin_answer(Request *q) {
  put32(q->answer + 4, q->correlation_id);
  q->answer[8] = 0;                       /* no tags */
  return q->answer + 9;
}
static void end_answer(Request *q, uint8_t *end) {
  q->answer_bytes = end - q->answer;
  put32(q->answer, (int32_t)q->answer_bytes - 4);
}

static int produce(Lane *l, Arena *a, Request *q, Reader *r) {
  int64_t name_bytes, topic_bytes = 16, records_bytes;
  const uint8_t *name = read_compact(r, &name_bytes), *topic_at;
  int acks = read16(r);
  read32(r);                              /* the timeout: nothing is waited for */
  PLAIN(read_unsigned(r, 32) == 2);       /* one topic */
  if (q->version >= 13) {
    topic_at = r->p;
    if (has(r, 16)) r->p += 16;
  } else {
    topic_at = read_compact(r, &topic_bytes);
    PLAIN(topic_bytes > 0 && topic_bytes <= MOST_NAME_BYTES);
  }
  PLAIN(read_unsigned(r, 32) == 2);       /* one partition */
  int32_t index = read32(r);
  const uint8_t *data = read_compact(r, &records_bytes);
  PLAIN(no_tags(r) && no_tags(r) && no_tags(r) && r->p == r->end);
  PLAIN(acks == -1 || acks == 1);
  Batch batch;
  DO(read_batch(data, records_bytes, &batch));
  bool transactional = batch.attributes & TRANSACTIONAL;
  PLAIN(!transactional || (q->version >= 12 && name_bytes > 0));
  PLAIN(name_bytes <= 0 || transactional);

  PyObject *key = q->version >= 13 ? PyBytes_FromStringAndSize((const char *)topic_at, 16)
                                   : PyUnicode_DecodeUTF8((const char *)topic_at, (Py_ssize_t)topic_bytes, NULL);
  if (hold(a, key) == NULL) return PyErr_Clear(), 0;
  PyObject *topic = look_up(q->version >= 13 ? l->topics_by_id : l->topics, key);
  if (topic == NULL) return PyErr_Occurred() ? -1 : 0;
  GET(partitions, topic, partitions);
  PLAIN(PyList_CheckExact(partitions) && index >= 0 && index < PyList_GET_SIZE(partitions));
  Place place;
  PyObject *partition = hold(a, Py_NewRef(PyList_GET_ITEM(partitions, index)));
  MUST(partition != NULL);
  DO(open_place(l, a, partition, &place));
  GET(topic_name, partition, topic);
  PLAIN(PyUnicode_CompareWithASCIIString(topic_name, "__consumer_offsets") && PyUnicode_CompareWithASCIIString(topic_name, "__transaction_state"));
  DO(validate(l, &place, &batch, q->now_ms));
  int64_t base = place.end, last_offset = base + batch.last_offset_delta;
  DO(fits(&place, batch.size, batch.size, last_offset, batch.max_timestamp));
  Known known;
  DO(may_append(a, &place, &batch, &known));

  if (transactional) {
    Id id;
    Record record;
    bool writes = false;
    PyObject *text = hold(a, PyUnicode_DecodeUTF8((const char *)name, (Py_ssize_t)name_bytes, NULL));
    if (text == NULL) return PyErr_Clear(), 0;
    DO(open_id(l, a, text, &id));
    PLAIN(id.place.partition != partition);
    q->name = id.name;
    if (known.opens) {
      GET(where, partition, at);
      PLAIN(id.producer_id == batch.producer_id && id.epoch == batch.producer_epoch);
      DO(plan_add(l, a, &id, where, q->now_ms, &record, &writes));
    }
    if (writes) {                         /* from here on things change */
      DO(write_record(l, a, &id, &record, q->now_ms));
      MUST(PyDict_SetItem(l->ongoing, id.name, Py_None) == 0);
    }
  }

  uint8_t head[16];
  put64(head, base);
  put32(head + 8, (int32_t)(batch.size - OVERHEAD_BYTES));
  put32(head + 12, (int32_t)place.leader_epoch);
  struct iovec pieces[] = {{head, sizeof head}, {(void *)(batch.data + sizeof head), (size_t)batch.size - sizeof head}};
  DO(write_batch(l, a, &place, pieces, 2, batch.size, batch.count, last_offset, batch.max_timestamp));
  DO(evolve(l, a, &place, &batch, &known));
  DO(move_end(a, &place, last_offset + 1));

  NUMBER(log_start, place.state, log_start_offset);
  uint8_t *p = begin_answer(q);
  *p++ = 2;
  if (q->version < 13) *p++ = (uint8_t)(topic_bytes + 1);
  memcpy(p, topic_at, (size_t)topic_bytes);
  p += topic_bytes;
  *p++ = 2;
  p = put32(p, index);
  p = put16(p, 0);
  p = put64(p, base);
  p = put64(p, -1);
  p = put64(p, log_start);
  *p++ = 1;                               /* no record errors */
  memset(p, 0, 8);                        /* no message, no tags, no throttling, no tags */
  end_answer(q, p + 8);
  if (q->size > SMALL_FRAME_BYTES) q->kept_bytes = q->size - records_bytes + HEADER_BYTES;
  return 1;
}

/* ------------------------------------------------------------------ EndTxn (handlers/end_txn.py, broker/transactions.py) */

typedef struct {                          /* one partition that gets a marker */
  Place place;
  PyObject *producer, *first;             /* its state there, and where its transaction begins */
} Ending;

static int open_ending(Lane *l, Arena *a, const Id *id, PyObject *producer_id, PyObject *where, int64_t now, Ending *e) {
  GET(name, where, topic);
  NUMBER(index, where, partition);
  PLAIN(PyUnicode_CompareWithASCIIString(name, "__consumer_offsets") != 0);
  PyObject *topic = look_up(l->topics, name);
  if (topic == NULL) return PyErr_Occurred() ? -1 : 0;
  GET(partitions, topic, partitions);
  PLAIN(PyList_CheckExact(partitions) && index >= 0 && index < PyList_GET_SIZE(partitions));
  PyObject *partition = hold(a, Py_NewRef(PyList_GET_ITEM(partitions, index)));
  MUST(partition != NULL);
  DO(open_place(l, a, partition, &e->place));
  DO(fits(&e->place, MARKER_BYTES, MARKER_BYTES, e->place.end, now));
  GET(producers, e->place.state, producers);
  GET(verifications, e->place.state, verifications);
  PLAIN(PyDict_GET_SIZE(verifications) == 0);
  e->producer = look_up(producers, producer_id);
  if (e->producer == NULL) return PyErr_Occurred() ? -1 : 0;
  MUST(hold(a, Py_NewRef(e->producer)) != NULL);
  NUMBER(epoch, e->producer, epoch);
  NUMBER(coordinator_epoch, e->producer, coordinator_epoch);
  e->first = get(a, e->producer, S_transaction_first_offset);
  MUST(e->first != NULL);
  return PyLong_AsLongLong(e->first) >= 0 && id->epoch + 1 > epoch && id->place.leader_epoch >= coordinator_epoch;
}

/* `ClassicPartition.append_marker` of a commit. */
static int write_marker(Lane *l, Arena *a, const Id *id, PyObject *producer_id, int64_t now, Ending *e) {
  Place *place = &e->place;
  uint8_t marker[MARKER_BYTES], *p = put64(marker, place->end);
  p = put32(p, MARKER_BYTES - OVERHEAD_BYTES);
  p = put32(p, (int32_t)place->leader_epoch);
  *p++ = MAGIC;
  p = put16(p + 4, MARKER_ATTRIBUTES);
  p = put32(p, 0);
  p = put64(p, now);
  p = put64(p, now);
  p = put64(p, id->producer_id);
  p = put16(p, id->epoch + 1);
  p = put32(p, -1);
  p = put32(p, 1);
  const uint8_t record[] = {32, 0, 0, 0, 8, 0, 0, 0, 1, 12, 0, 0};
  memcpy(p, record, sizeof record);
  p = put32(p + sizeof record, (int32_t)id->place.leader_epoch);
  *p = 0;
  put32(marker + 17, (int32_t)crc32c(marker + CRC_FROM, MARKER_BYTES - CRC_FROM));
  struct iovec piece = {marker, sizeof marker};
  DO(write_batch(l, a, place, &piece, 1, sizeof marker, 1, place->end, now));
  ADD(place->store, markers, 1);
  GET(open_bytes, place->partition, _open_bytes);
  if (look_up(open_bytes, producer_id) != NULL) MUST(PyDict_DelItem(open_bytes, producer_id) == 0);
  MUST(!PyErr_Occurred());
  GET(ongoing, place->state, ongoing);
  GET(unstable, place->state, unstable);
  MUST(PyDict_DelItem(ongoing, e->first) == 0 && PyDict_DelItem(unstable, e->first) == 0);
  ASSIGN(e->producer, transaction_first_offset, MINUS_ONE);
  SET(e->producer, epoch, id->epoch + 1);
  GET(batches, e->producer, batches);
  PyObject *none = PyObject_CallMethodNoArgs(batches, S_clear);
  MUST(none != NULL);
  Py_DECREF(none);
  SET(e->producer, coordinator_epoch, id->place.leader_epoch);
  SET(e->producer, last_timestamp, now);
  return move_end(a, place, place->end + 1);
}

static int bucket(int64_t ns) { return ns <= 0 ? 0 : 64 - __builtin_clzll((unsigned long long)ns); }

/* engine.times.Times.add */
static int add_time(Arena *a, PyObject *times, int64_t ns) {
  GET(counts, times, counts);
  Py_ssize_t at = bucket(ns);
  PLAIN(PyList_CheckExact(counts) && at < PyList_GET_SIZE(counts));
  PyObject *count = PyLong_FromLongLong(PyLong_AsLongLong(PyList_GET_ITEM(counts, at)) + 1);
  MUST(count != NULL && PyList_SetItem(counts, at, count) == 0);
  ADD(times, sum_ns, ns);
  NUMBER(most, times, max_ns);
  if (ns > most) SET(times, max_ns, ns);
  return 1;
}
static int took(Lane *l, Arena *a, PyObject *name, int64_t ns) {
  GET(all, l->counters, _times);
  PyObject *times = look_up(all, name);
  if (times != NULL) return add_time(a, times, ns);
  MUST(!PyErr_Occurred());
  PyObject *value = hold(a, PyLong_FromLongLong(ns));
  MUST(value != NULL);
  PyObject *none = PyObject_CallMethodObjArgs(l->counters, S_took, name, value, NULL);
  MUST(none != NULL);
  Py_DECREF(none);
  return 1;
}

/* The state of the coordinator's entry while markers are under way; seen only if one of them fails. */
static int note_failure(Lane *l, Arena *a, const Id *id, PyObject *partitions, Py_ssize_t from) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *left = hold(a, PyDict_New());
  for (Py_ssize_t n = from; left != NULL && n < PyTuple_GET_SIZE(partitions); n++)
    if (PyDict_SetItem(left, PyTuple_GET_ITEM(partitions, n), Py_None) < 0) left = NULL;
  if (left != NULL && PyObject_SetAttr(id->entry, S_pending, l->states[COMPLETE_COMMIT]) == 0)
    PyObject_SetAttr(id->entry, S_left, left);
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return -1;
}

static int end_txn(Lane *l, Arena *a, Request *q, Reader *r) {
  int64_t name_bytes;
  const uint8_t *name = read_compact(r, &name_bytes);
  int64_t producer_id = read64(r);
  int epoch = read16(r), committed = read8(r);
  PLAIN(no_tags(r) && r->p == r->end && name_bytes > 0 && committed == 1);
  PyObject *text = hold(a, PyUnicode_DecodeUTF8((const char *)name, (Py_ssize_t)name_bytes, NULL));
  if (text == NULL) return PyErr_Clear(), 0;
  Id id;
  DO(open_id(l, a, text, &id));
  PLAIN(id.state == ONGOING && id.producer_id == producer_id && id.epoch == epoch && epoch < MAX_EPOCH);
  q->name = id.name;
  int64_t now = q->now_ms, start = txn_number(&id, START);
  PyObject *partitions = PyTuple_GET_ITEM(id.txn, PARTITIONS);
  Py_ssize_t count = PyTuple_GET_SIZE(partitions);
  PLAIN(count <= MOST_PARTITIONS);
  PyObject *number = hold(a, PyLong_FromLongLong(producer_id));
  PyObject *next_epoch = hold(a, PyLong_FromLong(epoch + 1));
  MUST(number != NULL && next_epoch != NULL);
  Ending endings[MOST_PARTITIONS];
  for (Py_ssize_t n = 0; n < count; n++) {
    DO(open_ending(l, a, &id, number, PyTuple_GET_ITEM(partitions, n), now, &endings[n]));
    for (Py_ssize_t other = 0; other < n; other++) PLAIN(endings[other].place.partition != endings[n].place.partition);
  }
  PyObject *after = hold(a, l->producer_type->tp_alloc(l->producer_type, 0));
  MUST(after != NULL);
  MUST(PyObject_GenericSetAttr(after, S_id, number) == 0 && PyObject_GenericSetAttr(after, S_epoch, next_epoch) == 0);
  PyObject *prepared = next_txn(l, a, &id, id.txn, after, PREPARE_COMMIT, partitions, start, now, epoch);
  MUST(prepared != NULL);
  PyObject *complete = next_txn(l, a, &id, prepared, NULL, COMPLETE_COMMIT, NO_PARTITIONS, start, now, epoch);
  MUST(complete != NULL);
  Record prepare, done;
  DO(encode_record(a, &id, prepared, PREPARE_COMMIT, now, &prepare));
  DO(encode_record(a, &id, complete, COMPLETE_COMMIT, now, &done));
  DO(fits(&id.place, (int64_t)(prepare.size + done.size), (int64_t)prepare.size, id.place.end + 1, now));
  int64_t began_ns, prepared_ns, marked_ns, ended_ns;
  MUST(call_number(l->monotonic_ns, &began_ns) == 0);

  DO(write_record(l, a, &id, &prepare, now));  /* from here on things change: the transaction is decided */
  MUST(call_number(l->monotonic_ns, &prepared_ns) == 0);
  DO(took(l, a, T_PREPARE, prepared_ns - began_ns));
  if (look_up(l->ongoing, id.name) != NULL) MUST(PyDict_DelItem(l->ongoing, id.name) == 0);
  MUST(!PyErr_Occurred());
  for (Py_ssize_t n = 0; n < count; n++)
    if (write_marker(l, a, &id, number, now, &endings[n]) <= 0) return note_failure(l, a, &id, partitions, n);
  if (count) {
    GET(counts, l->counters, _counts);
    PyObject *before = look_up(counts, C_MARKERS);
    MUST(before != NULL || !PyErr_Occurred());
    PyObject *sum = hold(a, PyLong_FromLongLong((before == NULL ? 0 : PyLong_AsLongLong(before)) + count));
    MUST(sum != NULL && PyDict_SetItem(counts, C_MARKERS, sum) == 0);
  }
  MUST(call_number(l->monotonic_ns, &marked_ns) == 0);
  if (write_record(l, a, &id, &done, now) <= 0) return note_failure(l, a, &id, partitions, count);
  MUST(call_number(l->monotonic_ns, &ended_ns) == 0);
  DO(took(l, a, T_MARKERS, marked_ns - prepared_ns));
  DO(took(l, a, T_COMPLETE, ended_ns - prepared_ns));
  DO(took(l, a, T_COMMITTED, now > start ? (now - start) * 1000000 : 0));

  uint8_t *p = begin_answer(q);
  p = put32(p, 0);
  p = put16(p, 0);
  p = put64(p, producer_id);
  p = put16(p, epoch + 1);
  *p++ = 0;
  end_answer(q, p);
  return 1;
}

/* --------------------------------------------------------------------------------------- requests (broker/connection.py) */

static PyObject *item_of(PyObject *dict, long key) {
  PyObject *number = PyLong_FromLong(key);
  PyObject *found = number == NULL ? NULL : PyObject_GetItem(dict, number);
  Py_XDECREF(number);
  return found;
}

/* `Ring`: the request and its answer as one `Packed`, at the end of those of its id. */
static int keep(Lane *l, Arena *a, Request *q, int64_t took_ns) {
  if (PyList_GET_SIZE(l->fresh)) {        /* what Python noted came before */
    PyObject *none = PyObject_CallMethodNoArgs(l->ring, S_sort);
    MUST(none != NULL);
    Py_DECREF(none);
  }
  PyObject *kept = look_up(l->rings, q->name);
  if (kept != NULL) {
    hold(a, Py_NewRef(kept));
    PyObject *none = PyObject_CallMethodOneArg(l->rings, S_move_to_end, q->name);
    MUST(none != NULL);
    Py_DECREF(none);
  } else {
    MUST(!PyErr_Occurred());
    kept = hold(a, PyObject_CallMethodOneArg(l->ring, S_ring_of, q->name));
    MUST(kept != NULL);
  }
  NUMBER(last, l->ring, _number);
  if (last != l->number || l->noted == SORTED_AT) { /* somebody else kept something, or the clock is to be moved */
    PyObject *bytes = hold(a, PyLong_FromLongLong(l->noted_bytes));
    PyObject *apart_us = bytes == NULL ? NULL : hold(a, PyObject_CallMethodOneArg(l->ring, S_noted, bytes));
    MUST(apart_us != NULL);
    l->apart_us = PyLong_AsLongLong(apart_us);
    l->noted = 0;
    l->noted_bytes = 0;
  }
  l->number = last + 1;
  SET(l->ring, _number, l->number);
  int32_t frame_bytes = (int32_t)(q->kept_bytes < 0 ? q->size : q->kept_bytes);
  PyObject *packed = hold(a, PyBytes_FromStringAndSize(NULL, PACKED_BYTES + frame_bytes + q->answer_bytes));
  MUST(packed != NULL);
  const int64_t numbers[] = {l->number, l->apart_us, q->began_ns, took_ns, q->size};
  char *p = PyBytes_AS_STRING(packed);
  memcpy(p, numbers, sizeof numbers);
  memcpy(p + sizeof numbers, &frame_bytes, sizeof frame_bytes);
  memcpy(p + PACKED_BYTES, q->data, (size_t)frame_bytes);
  memcpy(p + PACKED_BYTES + frame_bytes, q->answer, (size_t)q->answer_bytes);
  PyObject *entry = hold(a, PyTuple_Pack(2, q->peer, packed));
  PyObject *none = entry == NULL ? NULL : PyObject_CallMethodOneArg(kept, S_append, entry);
  MUST(none != NULL);
  Py_DECREF(none);
  l->noted++;
  l->noted_bytes += PACKED_OBJECTS_BYTES + PyBytes_GET_SIZE(packed);
  return 1;
}

/* What the long way counts and keeps of every request. */
static int note(Lane *l, Arena *a, Request *q, int key) {
  PyObject **known = key == 0 ? &l->rpc_produce : &l->rpc_end;
  if (*known == NULL) *known = item_of(l->rpcs, key);
  PyObject *rpc = *known;
  MUST(rpc != NULL);
  int64_t now_ns;
  MUST(call_number(l->monotonic_ns, &now_ns) == 0);
  int64_t took_ns = now_ns - q->began_ns;
  ADD(rpc, bytes_in, q->size + 4);
  ADD(rpc, bytes_out, q->answer_bytes);
  DO(add_time(a, rpc, took_ns));
  if (q->name == NULL || l->ring == Py_None) return 1;
  return keep(l, a, q, took_ns);
}

/* One request: 1 with its answer, a new reference. */
static int serve_one(Lane *l, Arena *a, PyObject *frame, PyObject *peer, PyObject **answer) {
  PLAIN(PyBytes_CheckExact(frame));
  Request q = {.frame = frame, .peer = peer, .data = (const uint8_t *)PyBytes_AS_STRING(frame), .size = PyBytes_GET_SIZE(frame), .kept_bytes = -1};
  Reader r = {q.data, q.data + q.size, false};
  int key = read16(&r);
  q.version = read16(&r);
  q.correlation_id = read32(&r);
  PLAIN((key == 0 && q.version >= 10 && q.version <= 13) || (key == 26 && q.version == 5));
  int client_bytes = read16(&r);
  for (; client_bytes > 0; client_bytes--) PLAIN(read8(&r) < 0x80);
  PLAIN(no_tags(&r));
  MUST(call_number(l->monotonic_ns, &q.began_ns) == 0 && call_number(l->wall_ms, &q.now_ms) == 0);
  DO(key == 0 ? produce(l, a, &q, &r) : end_txn(l, a, &q, &r));
  PyObject *made = PyBytes_FromStringAndSize((const char *)q.answer, q.answer_bytes);
  MUST(made != NULL);
  if (note(l, a, &q, key) < 0) {
    Py_DECREF(made);
    return -1;
  }
  *answer = made;
  return 1;
}

static PyObject *lane_serve(Lane *l, PyObject *const *given, Py_ssize_t count) {
  if (count != 2 || !PyList_CheckExact(given[0])) {
    PyErr_SetString(PyExc_TypeError, "serve(frames, peer) wants a list");
    return NULL;
  }
  PyObject *answers = PyList_New(0);
  Arena arena = {.count = 0};
  for (Py_ssize_t n = 0; answers != NULL && n < PyList_GET_SIZE(given[0]); n++) {
    PyObject *answer = NULL, *frame = Py_NewRef(PyList_GET_ITEM(given[0], n));
    int done = serve_one(l, &arena, frame, given[1], &answer);
    let_go(&arena);
    Py_DECREF(frame);
    if (done == 0) {
      l->passed++;
      break;
    }
    if (done < 0 || PyList_Append(answers, answer) < 0) Py_CLEAR(answers);
    else l->served++;
    Py_XDECREF(answer);
  }
  return answers;
}

/* ---------------------------------------------------------------------------------------------------------- the type itself */

#define FIELDS(X)                                                                                                            \
  X(broker) X(topics) X(topics_by_id) X(coordinator) X(entries) X(ongoing) X(txn_log) X(counters) X(ring) X(rings) X(fresh) X(wall_ms) \
  X(monotonic_ns) X(partition_of) X(storage_fault) X(rpcs) X(rpc_produce) X(rpc_end)                                      \
  X(partition_type) X(file_type) X(txn_type) X(producer_type) X(cached_type) X(producer_state_type)

static int lane_traverse(Lane *l, visitproc visit, void *arg) {
#define X(name) Py_VISIT(l->name);
  FIELDS(X)
#undef X
  for (int n = 0; n < STATES; n++) Py_VISIT(l->states[n]);
  return 0;
}
static int lane_clear(Lane *l) {
#define X(name) Py_CLEAR(l->name);
  FIELDS(X)
#undef X
  for (int n = 0; n < STATES; n++) Py_CLEAR(l->states[n]);
  return 0;
}
static void lane_free(Lane *l) {
  PyObject_GC_UnTrack(l);
  lane_clear(l);
  Py_TYPE(l)->tp_free((PyObject *)l);
}

static PyTypeObject *a_type(PyObject *parts, const char *name) {
  PyObject *found = PyDict_GetItemString(parts, name);
  if (found == NULL || !PyType_Check(found)) {
    PyErr_Format(PyExc_TypeError, "Lane wants the type %s", name);
    return NULL;
  }
  return (PyTypeObject *)Py_NewRef(found);
}
static int lane_init(Lane *l, PyObject *given, PyObject *named) {
  PyObject *broker, *parts;
  if (named != NULL && PyDict_GET_SIZE(named)) return PyErr_SetString(PyExc_TypeError, "Lane(broker, parts)"), -1;
  if (!PyArg_ParseTuple(given, "OO!", &broker, &PyDict_Type, &parts)) return -1;
  Arena arena = {.count = 0}, *a = &arena;
  int result = -1;
  PyObject *engine, *clock, *config, *states;
#define TAKE(field, of, name) if ((l->field = PyObject_GetAttr(of, S_##name)) == NULL) goto end
#define WANT(variable, of, name) if ((variable = get(a, of, S_##name)) == NULL) goto end
  l->broker = Py_NewRef(broker);
  WANT(engine, broker, engine);
  TAKE(topics, engine, _topics);
  TAKE(topics_by_id, engine, _by_id);
  TAKE(coordinator, broker, transactions);
  TAKE(entries, l->coordinator, _entries);
  TAKE(ongoing, l->coordinator, _ongoing);
  TAKE(txn_log, l->coordinator, _log);
  TAKE(counters, broker, counters);
  TAKE(ring, broker, ring);
  if (l->ring != Py_None) {
    TAKE(rings, l->ring, _rings);
    TAKE(fresh, l->ring, fresh);
  }
  l->number = -1;
  WANT(clock, broker, clock);
  TAKE(wall_ms, clock, wall_ms);
  TAKE(monotonic_ns, clock, monotonic_ns);
  TAKE(rpcs, l->counters, rpcs);
  if ((l->partition_type = a_type(parts, "ClassicPartition")) == NULL) goto end;
  if ((l->file_type = a_type(parts, "RealFile")) == NULL) goto end;
  if ((l->txn_type = a_type(parts, "Txn")) == NULL) goto end;
  if ((l->producer_type = a_type(parts, "Producer")) == NULL) goto end;
  if ((l->cached_type = a_type(parts, "CachedBatch")) == NULL) goto end;
  if ((l->producer_state_type = a_type(parts, "ProducerState")) == NULL) goto end;
  l->partition_of = Py_XNewRef(PyDict_GetItemString(parts, "partition_of"));
  l->storage_fault = Py_XNewRef(PyDict_GetItemString(parts, "StorageFault"));
  states = PyDict_GetItemString(parts, "states");
  if (l->partition_of == NULL || l->storage_fault == NULL || states == NULL || !PyTuple_Check(states) || PyTuple_GET_SIZE(states) != STATES) {
    PyErr_SetString(PyExc_TypeError, "Lane wants partition_of, StorageFault and six states");
    goto end;
  }
  for (int n = 0; n < STATES; n++) l->states[n] = Py_NewRef(PyTuple_GET_ITEM(states, n));
  WANT(config, broker, config);
  PyObject *reply = get(a, config, S_end_txn_reply);
  int64_t version, verifies;
  if (reply == NULL || number(config, S_transaction_version, &version) < 0) goto end;
  if (number(config, S_transaction_partition_verification_enable, &verifies) < 0) goto end;
  l->ends = verifies && version >= 2 && PyUnicode_CompareWithASCIIString(reply, "complete") == 0;
  result = 0;
end:
  let_go(a);
  return result;
}

static PyMethodDef lane_methods[] = {
    {"serve", (PyCFunction)(void (*)(void))lane_serve, METH_FASTCALL, "The answers of the leading plain frames."},
    {NULL, NULL, 0, NULL}};
static PyMemberDef lane_members[] = {
    {"served", T_ULONGLONG, offsetof(Lane, served), READONLY, "requests that were answered here"},
    {"passed", T_ULONGLONG, offsetof(Lane, passed), READONLY, "requests that went the long way"},
    {NULL, 0, 0, 0, NULL}};
static PyTypeObject LaneType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "oncelog.lane.Lane",
    .tp_basicsize = sizeof(Lane),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)lane_init,
    .tp_dealloc = (destructor)lane_free,
    .tp_traverse = (traverseproc)lane_traverse,
    .tp_clear = (inquiry)lane_clear,
    .tp_methods = lane_methods,
    .tp_members = lane_members,
};

static PyObject *module_crc32c(PyObject *module, PyObject *data) {
  (void)module;
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
  uint32_t crc = crc32c(view.buf, (size_t)view.len);
  PyBuffer_Release(&view);
  return PyLong_FromUnsignedLong(crc);
}
static PyMethodDef module_methods[] = {{"crc32c", module_crc32c, METH_O, "CRC-32C, for the tests."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "lane", .m_size = -1, .m_methods = module_methods};

PyMODINIT_FUNC PyInit_lane(void) {
  crc_begin();
  if (begin_names() < 0 || PyType_Ready(&LaneType) < 0) return NULL;
  PyObject *made = PyModule_Create(&module);
  if (made == NULL || PyModule_AddObjectRef(made, "Lane", (PyObject *)&LaneType) < 0) return NULL;
  return made;
}
