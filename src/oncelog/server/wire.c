/* The broker's connected sockets in a thread of their own, which never takes the interpreter's lock (decision 0024).
 *
 *   the thread   waits for sockets, receives, cuts whole frames (int32 length, then that many bytes), sends answers
 *   Python       Wire.take() gives all that has come since the last call; Channel.write() and Wire.flush() hand answers over
 *
 * Three kinds of state, marked at each field:
 *   P   touched only with the interpreter's lock held
 *   T   touched only by the thread
 *   M   touched only with `mutex` held. The thread never waits while it holds it, nor does Python.
 *
 * A channel is on at most two lists: `asked` (Python wants the thread to look at it) and `told` (the reverse). The wire keeps every
 * channel alive until the thread has let go of it. A socket is closed by the thread, and only after Python said so: a descriptor
 * that Python holds is never another one's.
 *
 * Limits: a channel is not read while more than CHANNEL_AHEAD_BYTES of it wait for Python, none is while more than AHEAD_BYTES of all
 * do. A buffer grows with what has arrived, never to what a length claims. What waits to be sent is limited by Python, which is asked
 * (`unsent_bytes`) and told (ROOM).
 *
 * The sockets are watched edge-triggered, once for reading and writing, so that a pause costs no system call.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define LENGTH_BYTES 4
#define BLOCK_BYTES (128 << 10)           /* of a buffer for what comes next */
#define KEPT_BYTES (4 << 10)              /* of the buffer of a request that has only begun to arrive */
#define CHANNEL_AHEAD_BYTES (1 << 20)     /* as much as the twin in Python reads in a turn */
#define AHEAD_BYTES (32 << 20)
#define JOINED_BYTES (64 << 10)           /* larger answers are sent from where they lie, and at once */
#define EVENTS 128
#define PIECES_PER_SEND 64

enum { ENDED = 1, LOST = 2, ROOM = 4, REFUSED = 8, DRAINED = 16, CLOSED = 32 };

typedef struct Block {                    /* whole frames, one behind the other, each with its length */
  struct Block *next;
  size_t size, room;
  char data[];
} Block;

typedef struct Piece {                    /* of an answer */
  struct Piece *next;
  const char *data;
  size_t size;
  Py_buffer view;                         /* where `data` lies, or nothing if it is `own` */
  char own[];
} Piece;

typedef struct { Piece *first, **last; } Pieces;

typedef struct Wire Wire;

typedef struct Channel {
  PyObject_HEAD
  Wire *wire;                             /* P */
  PyObject *owner;                        /* P: who is told; None when the channel is closed */
  struct Channel *before, *after;         /* P: all channels of the wire */
  Py_ssize_t limit_bytes;                 /* of what waits to be sent; never changes */
  int file;                               /* never changes; Python may use it while `is_open` */
  bool is_open;                           /* P */
  char is_closing;                        /* P: nothing is read, and nothing more is taken for sending */
  char reads;                             /* P */
  bool is_blocked, is_later;              /* P */
  Pieces later;                           /* P: for the next flush */
  size_t later_bytes;                     /* P */

  struct Channel *next_asked, *next_told; /* M */
  bool is_asked, is_told;                 /* M */
  bool may_read, must_close, wants_drain, wants_room; /* M: what Python asked for */
  Pieces handed;                          /* M: answers for the thread */
  size_t unsent;                          /* M: bytes handed over and not yet sent */
  int tells;                              /* M */
  long long refused;                      /* M: the length that cannot be */
  size_t half;                            /* M: bytes of a request that is not complete */
  size_t ahead;                           /* M: bytes that Python has not taken */
  bool is_held;                           /* M: the thread stopped at the limit of `ahead` */
  Block *blocks, **last_block;            /* M */
  Piece *done;                            /* M: sent, for Python to let go of */

  struct Channel *next_ready;             /* T */
  bool is_ready, can_read, hangs_up, is_dead; /* T */
  Block *filling;                         /* T: a request that is not complete */
  Pieces out;                             /* T */
} Channel;

struct Wire {
  PyObject_HEAD
  int epoll, to_thread, to_python;
  long long frame_limit;
  pthread_t thread;
  bool runs;                              /* P */
  char sends_later;                       /* P */
  Channel *channels;                      /* P */
  Channel **later;                        /* P: channels with something for the next flush */
  size_t later_count, later_room;         /* P */

  pthread_mutex_t mutex;
  Channel *asked, **last_asked;           /* M */
  Channel *told, **last_told;             /* M */
  size_t ahead;                           /* M */
  bool stops, sleeps, is_starved;         /* M */

  bool has_news;                          /* T: Python is to be woken */
  Channel *ready, **last_ready;           /* T: channels that may have something to read */
};

static void lock(Wire *wire) { pthread_mutex_lock(&wire->mutex); }
static void unlock(Wire *wire) { pthread_mutex_unlock(&wire->mutex); }

static void poke(int file) {
  uint64_t one = 1;
  while (write(file, &one, sizeof one) < 0 && errno == EINTR) continue;
}

static void clear(int file) {
  uint64_t count;
  while (read(file, &count, sizeof count) < 0 && errno == EINTR) continue;
}

static void add_pieces(Pieces *to, Pieces *from) {
  if (from->first == NULL) return;
  *to->last = from->first;
  to->last = from->last;
  from->first = NULL;
  from->last = &from->first;
}

/* Takes `count` bytes off the front; whole pieces are put in front of `done`. */
static void take_off(Pieces *pieces, size_t count, Piece **done) {
  while (pieces->first != NULL) {
    Piece *piece = pieces->first;
    if (piece->size > count) {
      piece->data += count;
      piece->size -= count;
      return;
    }
    count -= piece->size;
    pieces->first = piece->next;
    if (piece->next == NULL) pieces->last = &pieces->first;
    piece->next = *done;
    *done = piece;
  }
}

/* As sendmsg; `wanted` becomes what was offered. */
static ssize_t send_some(int file, Pieces *pieces, size_t *wanted) {
  struct iovec parts[PIECES_PER_SEND];
  struct msghdr message = {.msg_iov = parts};
  size_t offered = 0;
  for (Piece *piece = pieces->first; piece != NULL && message.msg_iovlen < PIECES_PER_SEND; piece = piece->next) {
    parts[message.msg_iovlen++] = (struct iovec){(void *)piece->data, piece->size};
    offered += piece->size;
  }
  if (wanted != NULL) *wanted = offered;
  return sendmsg(file, &message, MSG_NOSIGNAL);
}

static void free_blocks(Block *block) {
  while (block != NULL) {
    Block *next = block->next;
    free(block);
    block = next;
  }
}

/* ---- the thread ------------------------------------------------------------------------------------------------ */

static void tell(Wire *wire, Channel *channel, int what) {  /* with the mutex held */
  channel->tells |= what;
  if (channel->is_told) return;
  channel->is_told = true;
  channel->next_told = NULL;
  if (wire->told == NULL) wire->has_news = true;  /* else Python was woken for another one, and has not looked yet */
  *wire->last_told = channel;
  wire->last_told = &channel->next_told;
}

static void make_ready(Wire *wire, Channel *channel) {
  if (channel->is_ready || !channel->can_read || channel->is_dead) return;
  channel->is_ready = true;
  channel->next_ready = NULL;
  *wire->last_ready = channel;
  wire->last_ready = &channel->next_ready;
}

static void lose(Wire *wire, Channel *channel) {
  channel->is_dead = true;
  lock(wire);
  tell(wire, channel, LOST);
  unlock(wire);
}

static Block *resized(Block *block, size_t room) {
  Block *found = realloc(block, sizeof(Block) + room);
  if (found == NULL) return NULL;
  if (block == NULL) found->size = 0;
  found->next = NULL;
  found->room = room;
  return found;
}

static long long length_at(const char *data) {
  const unsigned char *at = (const unsigned char *)data;
  return (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

/* Room for what is known to come, but at most four times what is there already. */
static Block *with_room(Block *block) {
  if (block == NULL) return resized(NULL, BLOCK_BYTES);
  size_t wanted = block->size + BLOCK_BYTES;
  if (block->size >= LENGTH_BYTES) {
    size_t whole = LENGTH_BYTES + (size_t)length_at(block->data), most = 4 * block->size + BLOCK_BYTES;
    wanted = whole < most ? whole : most;
  }
  return block->room >= wanted ? block : resized(block, wanted);
}

/* Cuts off the whole frames: returns how many bytes they are, or -1 after a length that cannot be. */
static long long whole_bytes(Wire *wire, Block *block, long long *refused) {
  size_t whole = 0;
  while (block->size - whole >= LENGTH_BYTES) {
    long long length = length_at(block->data + whole);
    if (length < 0 || length > wire->frame_limit) {
      *refused = length;
      return -1;
    }
    if (block->size - whole - LENGTH_BYTES < (size_t)length) break;
    whole += LENGTH_BYTES + (size_t)length;
  }
  return (long long)whole;
}

/* Reads once, so that none waits long for another; false when there is nothing more to read for now. */
static bool receive(Wire *wire, Channel *channel) {
  lock(wire);
  bool may_read = channel->may_read && !channel->must_close;
  bool is_held = channel->ahead >= CHANNEL_AHEAD_BYTES;
  if (is_held) channel->is_held = true;
  bool is_starved = wire->ahead >= AHEAD_BYTES;
  unlock(wire);
  if (!may_read || is_held) return false;
  if (is_starved) return true;
  Block *block = with_room(channel->filling);
  if (block == NULL) {
    lose(wire, channel);
    return false;
  }
  channel->filling = block;
  size_t room = block->room - block->size;
  ssize_t count = recv(channel->file, block->data + block->size, room, 0);
  if (count <= 0) {
    int why = errno;
    if (block->size == 0) {
      free(block);
      channel->filling = NULL;
    }
    if (count < 0 && why == EINTR) return true;
    channel->can_read = false;
    if (count == 0) {
      lock(wire);
      tell(wire, channel, ENDED);
      unlock(wire);
    } else if (why != EAGAIN) {
      lose(wire, channel);
    }
    return false;
  }
  block->size += (size_t)count;
  bool goes_on = (size_t)count == room || channel->hangs_up;
  if (!goes_on) channel->can_read = false;

  long long refused = 0, whole = whole_bytes(wire, block, &refused);
  if (whole < 0) {
    channel->can_read = false;
    lock(wire);
    channel->refused = refused;
    tell(wire, channel, REFUSED);
    unlock(wire);
    return false;
  }
  size_t half = block->size - (size_t)whole;
  Block *rest = whole ? NULL : block;
  if (whole && half) {
    rest = resized(NULL, half < KEPT_BYTES ? KEPT_BYTES : half);
    if (rest == NULL) {
      lose(wire, channel);
      return false;
    }
    memcpy(rest->data, block->data + whole, half);
    rest->size = half;
  }
  Block *exact = resized(block, whole ? (size_t)whole : half < KEPT_BYTES ? KEPT_BYTES : block->room);
  if (exact == NULL) exact = block;  /* a smaller one always fits */
  if (whole) exact->size = (size_t)whole;
  channel->filling = rest == block ? exact : rest;
  lock(wire);
  channel->half = half;
  channel->ahead += (size_t)count;
  wire->ahead += (size_t)count;
  if (whole) {
    *channel->last_block = exact;
    channel->last_block = &exact->next;
  }
  tell(wire, channel, 0);
  unlock(wire);
  return goes_on;
}

/* Sends what the socket takes. What has left is Python's to let go of, for it may be the memory of an object. */
static void send_out(Wire *wire, Channel *channel) {
  size_t sent_bytes = 0;
  Piece *done = NULL;
  while (channel->out.first != NULL && !channel->is_dead) {
    size_t wanted;
    ssize_t sent = send_some(channel->file, &channel->out, &wanted);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) lose(wire, channel);
      break;
    }
    sent_bytes += (size_t)sent;
    take_off(&channel->out, (size_t)sent, &done);
    if ((size_t)sent < wanted) break;  /* the socket is full: it tells when there is room */
  }
  if (!sent_bytes) return;
  Piece *views = NULL;  /* of Python's memory */
  while (done != NULL) {
    Piece *piece = done;
    done = piece->next;
    if (piece->view.obj == NULL) {
      free(piece);
    } else {
      piece->next = views;
      views = piece;
    }
  }
  lock(wire);
  channel->unsent -= sent_bytes;
  if (views != NULL) {
    Piece **last = &channel->done;
    while (*last != NULL) last = &(*last)->next;
    *last = views;
    tell(wire, channel, 0);
  }
  if (channel->wants_room && channel->unsent <= (size_t)channel->limit_bytes / 4) {
    channel->wants_room = false;
    tell(wire, channel, ROOM);
  }
  if (channel->wants_drain && channel->unsent == 0) tell(wire, channel, DRAINED);
  unlock(wire);
}

static void let_go(Wire *wire, Channel *channel) {
  epoll_ctl(wire->epoll, EPOLL_CTL_DEL, channel->file, NULL);  /* a forked process may have a copy of the socket */
  close(channel->file);
  channel->is_dead = true;
  free(channel->filling);
  channel->filling = NULL;
  lock(wire);
  Pieces *left = &channel->out;
  *left->last = channel->done;
  channel->done = left->first;
  left->first = NULL;
  left->last = &left->first;
  tell(wire, channel, CLOSED);
  unlock(wire);
}

static void unready(Wire *wire, Channel *channel) {  /* rare: a channel that is closed while it has something to read */
  for (Channel **at = &wire->ready; *at != NULL; at = &(*at)->next_ready) {
    if (*at == channel) {
      *at = channel->next_ready;
      if (*at == NULL) wire->last_ready = at;
      break;
    }
  }
  channel->is_ready = false;
}

/* Takes what Python asked for. */
static void obey(Wire *wire) {
  lock(wire);
  Channel *asked = wire->asked;
  wire->asked = NULL;
  wire->last_asked = &wire->asked;
  unlock(wire);
  while (asked != NULL) {
    Channel *channel = asked;
    lock(wire);
    asked = channel->next_asked;
    channel->is_asked = false;
    bool must_close = channel->must_close;
    add_pieces(&channel->out, &channel->handed);
    unlock(wire);
    if (must_close) {
      if (channel->is_ready) unready(wire, channel);
      let_go(wire, channel);
      continue;
    }
    send_out(wire, channel);
    make_ready(wire, channel);
  }
}

static void *run(void *of) {
  Wire *wire = of;
  struct epoll_event events[EVENTS];
  for (;;) {
    lock(wire);
    bool stops = wire->stops;
    bool reads = wire->ready != NULL && wire->ahead < AHEAD_BYTES;
    wire->is_starved = wire->ready != NULL && !reads;
    wire->sleeps = !reads && wire->asked == NULL && !stops;
    bool sleeps = wire->sleeps;
    unlock(wire);
    if (stops) return NULL;
    int count = epoll_wait(wire->epoll, events, EVENTS, sleeps ? -1 : 0);
    if (sleeps) {
      lock(wire);
      wire->sleeps = false;
      unlock(wire);
    }
    for (int at = 0; at < count; at++) {
      Channel *channel = events[at].data.ptr;
      uint32_t what = events[at].events;
      if (channel == NULL) {
        clear(wire->to_thread);
        continue;
      }
      if (channel->is_dead) continue;
      if (what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) channel->hangs_up = true;
      if (what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        channel->can_read = true;
        make_ready(wire, channel);
      }
      if (what & (EPOLLOUT | EPOLLHUP | EPOLLERR) && channel->out.first != NULL) send_out(wire, channel);
    }
    obey(wire);  /* behind the events: what is closed here is on no list any more */
    Channel *ready = wire->ready;
    wire->ready = NULL;
    wire->last_ready = &wire->ready;
    while (ready != NULL) {
      Channel *channel = ready;
      ready = channel->next_ready;
      channel->is_ready = false;
      if (!channel->is_dead && receive(wire, channel)) make_ready(wire, channel);
    }
    if (wire->has_news) {
      wire->has_news = false;
      poke(wire->to_python);
    }
  }
}

/* ---- Python's side --------------------------------------------------------------------------------------------- */

static bool ask(Wire *wire, Channel *channel) {  /* with the mutex held; whether the thread must be woken */
  if (!channel->is_asked) {
    channel->is_asked = true;
    channel->next_asked = NULL;
    *wire->last_asked = channel;
    wire->last_asked = &channel->next_asked;
  }
  bool sleeps = wire->sleeps;
  wire->sleeps = false;
  return sleeps;
}

static void let_go_of_pieces(Piece *piece) {
  while (piece != NULL) {
    Piece *next = piece->next;
    if (piece->view.obj != NULL) PyBuffer_Release(&piece->view);
    free(piece);
    piece = next;
  }
}

static PyObject *frames_of(Block *block) {
  PyObject *frames = PyList_New(0);
  if (frames == NULL) return NULL;
  for (; block != NULL; block = block->next) {
    for (size_t at = 0; at < block->size;) {
      Py_ssize_t length = (Py_ssize_t)length_at(block->data + at);
      PyObject *frame = PyBytes_FromStringAndSize(block->data + at + LENGTH_BYTES, length);
      if (frame == NULL || PyList_Append(frames, frame) < 0) {
        Py_XDECREF(frame);
        Py_DECREF(frames);
        return NULL;
      }
      Py_DECREF(frame);
      at += LENGTH_BYTES + (size_t)length;
    }
  }
  return frames;
}

static void forget(Wire *wire, Channel *channel) {  /* the thread has let go of it */
  if (channel->before != NULL) channel->before->after = channel->after;
  else wire->channels = channel->after;
  if (channel->after != NULL) channel->after->before = channel->before;
  Py_DECREF(channel);
}

static void flush(Wire *wire) {
  if (!wire->later_count) return;
  bool wakes = false;
  lock(wire);
  for (size_t at = 0; at < wire->later_count; at++) {
    Channel *channel = wire->later[at];
    channel->is_later = false;
    if (!channel->is_open) continue;
    channel->unsent += channel->later_bytes;
    channel->later_bytes = 0;
    add_pieces(&channel->handed, &channel->later);
    if (ask(wire, channel)) wakes = true;
  }
  unlock(wire);
  wire->later_count = 0;
  if (wakes) poke(wire->to_thread);
}

static void end(Channel *channel) {
  Wire *wire = channel->wire;
  channel->is_open = false;
  let_go_of_pieces(channel->later.first);
  channel->later.first = NULL;
  channel->later.last = &channel->later.first;
  channel->later_bytes = 0;
  lock(wire);
  channel->must_close = true;
  bool wakes = ask(wire, channel);
  unlock(wire);
  if (wakes) poke(wire->to_thread);
}

static PyObject *tell_owner(PyObject *owner, const char *what) {  /* it may let go of the channel meanwhile */
  Py_INCREF(owner);
  PyObject *said = PyObject_CallMethod(owner, what, NULL);
  Py_DECREF(owner);
  return said;
}

static PyObject *channel_abort(Channel *channel, PyObject *nothing) {
  (void)nothing;
  if (!channel->is_open) Py_RETURN_NONE;
  channel->is_closing = 1;
  end(channel);
  PyObject *owner = channel->owner;
  Py_INCREF(Py_None);
  channel->owner = Py_None;
  PyObject *said = tell_owner(owner, "gone");
  Py_DECREF(owner);
  return said;
}

PyDoc_STRVAR(take_doc, "take() -> [(channel, frames, half, told, refused)]: all that has come since the last call.");
static PyObject *wire_take(Wire *wire, PyObject *nothing) {
  (void)nothing;
  PyObject *taken = PyList_New(0);
  if (taken == NULL || !wire->runs) return taken;
  flush(wire);  /* or it would look at channels that are forgotten here */
  clear(wire->to_python);
  lock(wire);
  Channel *told = wire->told;
  wire->told = NULL;
  wire->last_told = &wire->told;
  bool wakes = wire->is_starved && wire->sleeps;
  if (wakes) wire->sleeps = false;
  wire->ahead = 0;
  unlock(wire);
  while (told != NULL) {
    Channel *channel = told;
    lock(wire);
    told = channel->next_told;
    channel->is_told = false;
    Block *blocks = channel->blocks;
    channel->blocks = NULL;
    channel->last_block = &channel->blocks;
    Piece *done = channel->done;
    channel->done = NULL;
    int tells = channel->tells;
    channel->tells = 0;
    size_t half = channel->half;
    long long refused = channel->refused;
    channel->ahead = 0;
    if (channel->is_held && !channel->must_close) {
      channel->is_held = false;
      if (ask(wire, channel)) wakes = true;
    }
    unlock(wire);
    let_go_of_pieces(done);
    if (channel->is_open) {
      PyObject *frames = frames_of(blocks);
      PyObject *entry = frames == NULL ? NULL : Py_BuildValue("(ONniL)", channel, frames, (Py_ssize_t)half, tells, refused);
      if (entry == NULL || PyList_Append(taken, entry) < 0) {  /* no memory: its requests are lost, so it must go */
        PyErr_WriteUnraisable((PyObject *)channel);
        Py_XDECREF(channel_abort(channel, NULL));
        PyErr_Clear();
      }
      Py_XDECREF(entry);
    }
    free_blocks(blocks);
    if (tells & CLOSED) forget(wire, channel);
  }
  if (wakes) poke(wire->to_thread);
  return taken;
}

PyDoc_STRVAR(flush_doc, "flush(): hands over what was written since the last one.");
static PyObject *wire_flush(Wire *wire, PyObject *nothing) {
  (void)nothing;
  flush(wire);
  Py_RETURN_NONE;
}

static PyObject *wire_fileno(Wire *wire, PyObject *nothing) {
  (void)nothing;
  return PyLong_FromLong(wire->to_python);
}

PyDoc_STRVAR(wire_close_doc, "close(): ends the thread and closes every socket. What was handed over and not sent is lost.");
static PyObject *wire_close(Wire *wire, PyObject *nothing) {
  (void)nothing;
  if (!wire->runs) Py_RETURN_NONE;
  lock(wire);
  wire->stops = true;
  unlock(wire);
  poke(wire->to_thread);
  Py_BEGIN_ALLOW_THREADS
  pthread_join(wire->thread, NULL);
  Py_END_ALLOW_THREADS
  wire->runs = false;
  while (wire->channels != NULL) {
    Channel *channel = wire->channels;
    if (!(channel->tells & CLOSED)) close(channel->file);  /* else the thread did it */
    channel->is_open = false;
    channel->is_closing = 1;
    free(channel->filling);
    free_blocks(channel->blocks);
    let_go_of_pieces(channel->out.first);
    let_go_of_pieces(channel->handed.first);
    let_go_of_pieces(channel->later.first);
    let_go_of_pieces(channel->done);
    Py_CLEAR(channel->owner);
    forget(wire, channel);
  }
  close(wire->epoll);
  close(wire->to_thread);
  close(wire->to_python);
  wire->later_count = 0;
  Py_RETURN_NONE;
}

static void wire_dealloc(Wire *wire) {
  Py_XDECREF(wire_close(wire, NULL));
  free(wire->later);
  Py_TYPE(wire)->tp_free((PyObject *)wire);
}

static PyObject *wire_new(PyTypeObject *type, PyObject *args, PyObject *names) {
  static char *known[] = {"frame_limit_bytes", NULL};
  long long frame_limit;
  if (!PyArg_ParseTupleAndKeywords(args, names, "L", known, &frame_limit)) return NULL;
  Wire *wire = (Wire *)type->tp_alloc(type, 0);
  if (wire == NULL) return NULL;
  wire->frame_limit = frame_limit;
  wire->last_asked = &wire->asked;
  wire->last_told = &wire->told;
  wire->last_ready = &wire->ready;
  pthread_mutex_init(&wire->mutex, NULL);
  wire->epoll = epoll_create1(EPOLL_CLOEXEC);
  wire->to_thread = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  wire->to_python = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  int failed = wire->epoll < 0 || wire->to_thread < 0 || wire->to_python < 0 ? errno : 0;
  if (!failed && epoll_ctl(wire->epoll, EPOLL_CTL_ADD, wire->to_thread, &event) < 0) failed = errno;
  if (!failed) {
    sigset_t all, before;  /* signals are the main thread's */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&wire->thread, NULL, run, wire);
    if (!failed) pthread_setname_np(wire->thread, "oncelog-sockets");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  if (failed) {
    if (wire->epoll >= 0) close(wire->epoll);
    if (wire->to_thread >= 0) close(wire->to_thread);
    if (wire->to_python >= 0) close(wire->to_python);
    Py_DECREF(wire);
    errno = failed;
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  wire->runs = true;
  return (PyObject *)wire;
}

static PyMethodDef wire_methods[] = {
    {"take", (PyCFunction)wire_take, METH_NOARGS, take_doc},
    {"flush", (PyCFunction)wire_flush, METH_NOARGS, flush_doc},
    {"fileno", (PyCFunction)wire_fileno, METH_NOARGS, "fileno(): readable when there is something to take."},
    {"close", (PyCFunction)wire_close, METH_NOARGS, wire_close_doc},
    {NULL, NULL, 0, NULL}};

static PyMemberDef wire_members[] = {
    {"sends_later", T_BOOL, offsetof(Wire, sends_later), 0, "Small answers wait for flush()."},
    {NULL, 0, 0, 0, NULL}};

static PyTypeObject wire_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "oncelog.server.wire.Wire",
    .tp_basicsize = sizeof(Wire),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = wire_new,
    .tp_dealloc = (destructor)wire_dealloc,
    .tp_methods = wire_methods,
    .tp_members = wire_members,
};

static PyObject *channel_new(PyTypeObject *type, PyObject *args, PyObject *names) {
  static char *known[] = {"wire", "file", "owner", "unsent_limit_bytes", NULL};
  Wire *wire;
  int file;
  PyObject *owner;
  Py_ssize_t limit;
  if (!PyArg_ParseTupleAndKeywords(args, names, "O!iOn", known, &wire_type, &wire, &file, &owner, &limit)) return NULL;
  if (!wire->runs) return PyErr_Format(PyExc_OSError, "the thread of the sockets has ended");
  Channel *channel = (Channel *)type->tp_alloc(type, 0);
  if (channel == NULL) return NULL;
  Py_INCREF(wire);
  channel->wire = wire;
  Py_INCREF(owner);
  channel->owner = owner;
  channel->file = file;
  channel->limit_bytes = limit;
  channel->is_open = channel->may_read = true;
  channel->reads = 1;
  channel->later.last = &channel->later.first;
  channel->handed.last = &channel->handed.first;
  channel->out.last = &channel->out.first;
  channel->last_block = &channel->blocks;
  channel->after = wire->channels;
  if (wire->channels != NULL) wire->channels->before = channel;
  wire->channels = channel;
  Py_INCREF(channel);  /* the thread's, until it has let go of it */
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = channel};
  if (epoll_ctl(wire->epoll, EPOLL_CTL_ADD, file, &event) < 0) {
    PyErr_SetFromErrno(PyExc_OSError);
    channel->is_open = false;
    forget(wire, channel);
    Py_DECREF(channel);
    return NULL;
  }
  return (PyObject *)channel;
}

static void channel_dealloc(Channel *channel) {
  Py_CLEAR(channel->owner);
  Py_CLEAR(channel->wire);
  Py_TYPE(channel)->tp_free((PyObject *)channel);
}

static size_t unsent_of(Channel *channel) {
  lock(channel->wire);
  size_t unsent = channel->unsent;
  unlock(channel->wire);
  return unsent + channel->later_bytes;
}

static bool has_place(Channel *channel) {  /* among those that the next flush looks at */
  Wire *wire = channel->wire;
  if (wire->later_count < wire->later_room) return true;
  size_t room = wire->later_room ? 2 * wire->later_room : 256;
  Channel **found = realloc(wire->later, room * sizeof *found);
  if (found == NULL) {
    PyErr_NoMemory();
    return false;
  }
  wire->later = found;
  wire->later_room = room;
  return true;
}

static void keep(Channel *channel, Pieces *pieces) {
  if (!channel->is_later) {
    channel->is_later = true;
    channel->wire->later[channel->wire->later_count++] = channel;
  }
  for (Piece *piece = pieces->first; piece != NULL; piece = piece->next) channel->later_bytes += piece->size;
  add_pieces(&channel->later, pieces);
}

/* Small parts are copied into one piece; of large ones each is a piece that stays where it lies. */
static bool gather(PyObject *parts, Pieces *pieces, size_t *total) {
  Py_ssize_t count = PyList_GET_SIZE(parts);
  *total = 0;
  for (Py_ssize_t at = 0; at < count; at++) {
    Py_ssize_t size = PyObject_Size(PyList_GET_ITEM(parts, at));
    if (size < 0) return false;
    *total += (size_t)size;
  }
  bool joins = *total <= JOINED_BYTES;
  Piece *piece = NULL;
  for (Py_ssize_t at = 0; at < count; at++) {
    Py_buffer view;
    if (PyObject_GetBuffer(PyList_GET_ITEM(parts, at), &view, PyBUF_SIMPLE) < 0) return false;
    if (!view.len) {
      PyBuffer_Release(&view);
      continue;
    }
    if (piece == NULL || !joins) {
      piece = malloc(sizeof(Piece) + (joins ? *total : 0));
      if (piece == NULL) {
        PyBuffer_Release(&view);
        PyErr_NoMemory();
        return false;
      }
      *piece = (Piece){.data = joins ? piece->own : view.buf};
      *pieces->last = piece;
      pieces->last = &piece->next;
    }
    if (!joins) {
      piece->view = view;
      piece->size = (size_t)view.len;
      continue;
    }
    bool fits = piece->size + (size_t)view.len <= *total;  /* else somebody counts other things than bytes */
    if (fits) {
      memcpy(piece->own + piece->size, view.buf, (size_t)view.len);
      piece->size += (size_t)view.len;
    }
    PyBuffer_Release(&view);
    if (!fits) {
      PyErr_SetString(PyExc_TypeError, "wanted parts that are bytes");
      return false;
    }
  }
  return true;
}

PyDoc_STRVAR(write_doc, "write(parts): sends as much as the socket takes, at once or with the next flush, and the rest when there is room.");
static PyObject *channel_write(Channel *channel, PyObject *parts) {
  Wire *wire = channel->wire;
  if (channel->is_closing) Py_RETURN_NONE;
  if (!PyList_Check(parts)) return PyErr_Format(PyExc_TypeError, "wanted a list of parts");
  Pieces pieces = {NULL, &pieces.first};
  Piece *done = NULL;
  size_t total;
  if (!gather(parts, &pieces, &total) || !has_place(channel)) {
    let_go_of_pieces(pieces.first);
    return NULL;
  }
  if (pieces.first == NULL) Py_RETURN_NONE;
  bool waits = wire->sends_later && total <= JOINED_BYTES;
  if (!waits && unsent_of(channel) == 0) {  /* then the thread sends nothing here, and we may */
    ssize_t sent = send_some(channel->file, &pieces, NULL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      let_go_of_pieces(pieces.first);
      return channel_abort(channel, NULL);
    }
    take_off(&pieces, sent < 0 ? 0 : (size_t)sent, &done);
    let_go_of_pieces(done);
    if (pieces.first == NULL) Py_RETURN_NONE;
  }
  keep(channel, &pieces);
  if (!waits || channel->later_bytes > JOINED_BYTES) flush(wire);
  lock(wire);
  bool blocks = !channel->is_blocked && channel->unsent > (size_t)channel->limit_bytes;
  if (blocks) channel->wants_room = true;
  unlock(wire);
  if (!blocks) Py_RETURN_NONE;
  channel->is_blocked = true;
  return tell_owner(channel->owner, "blocked");
}

static PyObject *channel_close(Channel *channel, PyObject *nothing) {
  Wire *wire = channel->wire;
  if (channel->is_closing) Py_RETURN_NONE;
  channel->is_closing = 1;
  flush(wire);
  lock(wire);
  bool is_drained = channel->unsent == 0;
  channel->wants_drain = !is_drained;
  channel->may_read = false;
  unlock(wire);
  if (is_drained) return channel_abort(channel, nothing);
  Py_RETURN_NONE;
}

static PyObject *channel_read_on(Channel *channel, PyObject *reads) {
  Wire *wire = channel->wire;
  if (channel->is_closing) Py_RETURN_NONE;
  channel->reads = PyObject_IsTrue(reads) == 1;
  lock(wire);
  channel->may_read = channel->reads;
  bool wakes = channel->reads && ask(wire, channel);
  unlock(wire);
  if (wakes) poke(wire->to_thread);
  Py_RETURN_NONE;
}

static PyObject *channel_peer_is_gone(Channel *channel, PyObject *nothing) {
  (void)nothing;
  struct pollfd look = {.fd = channel->file, .events = POLLRDHUP};
  return PyBool_FromLong(channel->is_closing || poll(&look, 1, 0) > 0);
}

static PyObject *channel_unblocked(Channel *channel, PyObject *nothing) {
  (void)nothing;
  channel->is_blocked = false;
  Py_RETURN_NONE;
}

static PyObject *channel_unsent(Channel *channel, void *nothing) {
  (void)nothing;
  return PyLong_FromSize_t(channel->is_open ? unsent_of(channel) : 0);
}

static PyMethodDef channel_methods[] = {
    {"write", (PyCFunction)channel_write, METH_O, write_doc},
    {"read_on", (PyCFunction)channel_read_on, METH_O, "read_on(reads): stops reading, or goes on."},
    {"close", (PyCFunction)channel_close, METH_NOARGS, "close(): ends it when all that was taken for sending has left."},
    {"abort", (PyCFunction)channel_abort, METH_NOARGS, "abort(): ends it now: what was not sent is lost."},
    {"peer_is_gone", (PyCFunction)channel_peer_is_gone, METH_NOARGS, "peer_is_gone(): its end of the stream has arrived."},
    {"unblock", (PyCFunction)channel_unblocked, METH_NOARGS, "unblock(): the owner may be told `blocked` again."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef channel_members[] = {
    {"owner", T_OBJECT, offsetof(Channel, owner), READONLY, "Who is told; None when it is closed."},
    {"is_closing", T_BOOL, offsetof(Channel, is_closing), READONLY, NULL},
    {"reads", T_BOOL, offsetof(Channel, reads), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef channel_values[] = {
    {"unsent_bytes", (getter)channel_unsent, NULL, "Taken for sending, and not yet sent.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject channel_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "oncelog.server.wire.Channel",
    .tp_basicsize = sizeof(Channel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = channel_new,
    .tp_dealloc = (destructor)channel_dealloc,
    .tp_methods = channel_methods,
    .tp_members = channel_members,
    .tp_getset = channel_values,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "wire", "Sockets in a thread of their own.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_wire(void) {
  if (PyType_Ready(&wire_type) < 0 || PyType_Ready(&channel_type) < 0) return NULL;
  PyObject *made = PyModule_Create(&module);
  if (made == NULL) return NULL;
  if (PyModule_AddObjectRef(made, "Wire", (PyObject *)&wire_type) < 0 ||
      PyModule_AddObjectRef(made, "Channel", (PyObject *)&channel_type) < 0 ||
      PyModule_AddIntMacro(made, ENDED) < 0 || PyModule_AddIntMacro(made, LOST) < 0 ||
      PyModule_AddIntMacro(made, ROOM) < 0 || PyModule_AddIntMacro(made, REFUSED) < 0 ||
      PyModule_AddIntMacro(made, DRAINED) < 0) {
    Py_DECREF(made);
    return NULL;
  }
  return made;
}
