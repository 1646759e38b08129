/* The state of a simulated machine: free nodes, running attempts, waiting jobs. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t whole;
#include "predictor.h"

enum { FCFS, EASY, CONSERVATIVE, RELIABLE };
enum { SPANS = 16 };

/* Runs of consecutive nodes: the first node and the number of nodes of each run. */
typedef struct {
    whole count, room;
    int32_t *first, *length;
} Runs;

/* Lower bounds of the sizes (in nodes) and of the estimates (in seconds) of a block's waiting jobs. */
typedef struct {
    whole size;
    double limit;
} Bound;

typedef struct {
    double begin, end;
} Span;

/* A free node, the key by which a job takes nodes, and the logarithm of its probability to survive the job. */
typedef struct {
    whole node;
    double key, safe;
} Candidate;

/* The arrays submit, size, left, limit, checkpoint, promise and begin have an element per job. The arrays job, start,
 * end, killed and offsets (into the runs) have an element per attempt, in order of start. All times are in seconds. */
typedef struct {
    int policy, full, stale, anew;
    whole nodes, count, arrived, waiting, attempts, active, pending, free, hint, first;
    const double *submit, *checkpoint;
    const whole *size;
    double *left, *limit, *promise, *begin;
    whole *job, *offsets;
    double *start, *end;
    uint8_t *killed;
    Runs *runs;
    uint64_t *free_nodes, *waits; /* bit sets of the free nodes and of the waiting jobs */
    Bound *words, *groups;        /* bounds of each 64 jobs, and of each 64 words */
    whole *owner;                 /* the last attempt on each node; NULL where no node fails */
    double *latest;               /* latest ends of the running attempts, ascending */
    whole *sizes, *listed;
    double *heap; /* heap of the attempts' ends, with the attempts in items; killed attempts stay in it */
    whole *items;
    whole head, extra; /* the first waiting job that does not fit, and the nodes that it leaves free */
    double shadow;     /* the head's latest start */
    whole lo, hi, parts; /* the profile of free nodes has the parts lo to hi - 1, the last one endless */
    double *times;
    whole *frees;
    Span risen[SPANS]; /* spans in which reserved nodes became free since the last pass */
    whole spans;
    double due; /* begin of the next reservation, or time at which `reliable` looks at a job again */
    const Predictor *predictor;
    Candidate *chosen, *other; /* the nodes that `reliable` chose; each array has room for all nodes */
} Machine;

static uint64_t ones(whole begin, whole count) {
    return count >= 64 ? ~0ULL : ((1ULL << count) - 1) << begin;
}

/* Add consecutive integers to a set, or remove them from it. */
static void flip(uint64_t *bits, whole begin, whole count) {
    while (count > 0) {
        whole low = begin & 63, many = count < 64 - low ? count : 64 - low;
        bits[begin >> 6] ^= ones(low, many);
        begin += many;
        count -= many;
    }
}

static void set_free(Machine *m, whole begin, whole count) {
    if (begin >> 6 < m->hint)
        m->hint = begin >> 6;
    m->free += count;
    flip(m->free_nodes, begin, count);
}

/* Return an array with room for `room` elements; the array as it was, and `full` set, where there is no memory. */
static void *grown(Machine *m, void *old, whole room, size_t each) {
    void *more = realloc(old, (size_t)room * each);
    if (!more)
        m->full = 1;
    return more ? more : old;
}

/* Add a run of nodes to the last attempt; a run that continues the attempt's last run extends that run. */
static void add_run(Machine *m, whole begin, whole count) {
    Runs *runs = m->runs;
    whole last = runs->count - 1;
    if (last >= m->offsets[m->attempts] && runs->first[last] + runs->length[last] == begin) {
        runs->length[last] += (int32_t)count;
        return;
    }
    if (runs->count == runs->room) {
        whole room = 2 * runs->room + 1024;
        runs->first = grown(m, runs->first, room, sizeof *runs->first);
        runs->length = grown(m, runs->length, room, sizeof *runs->length);
        if (m->full)
            return;
        runs->room = room;
    }
    runs->first[runs->count] = (int32_t)begin;
    runs->length[runs->count++] = (int32_t)count;
}

/* Give the `count` lowest free nodes to the last attempt. */
static void take(Machine *m, whole count) {
    whole place = m->hint;
    m->free -= count;
    for (;;) {
        uint64_t word = m->free_nodes[place];
        while (word && count > 0) {
            whole low = __builtin_ctzll(word);
            uint64_t rest = ~(word >> low);
            whole length = rest ? __builtin_ctzll(rest) : 64;
            if (length > 64 - low)
                length = 64 - low;
            if (length > count)
                length = count;
            word &= ~ones(low, length);
            add_run(m, (place << 6) + low, length);
            count -= length;
        }
        m->free_nodes[place] = word;
        if (!count)
            break;
        place++;
    }
    m->hint = place;
}

/* The running attempts are kept in a heap by their ends, and in a list by their latest ends. */

static void push(Machine *m, double time, whole item) {
    whole at = m->pending++;
    while (at > 0 && m->heap[(at - 1) >> 1] > time) {
        m->heap[at] = m->heap[(at - 1) >> 1];
        m->items[at] = m->items[(at - 1) >> 1];
        at = (at - 1) >> 1;
    }
    m->heap[at] = time;
    m->items[at] = item;
}

static whole pop(Machine *m) {
    whole first = m->items[0], at = 0, count = --m->pending;
    double time = m->heap[count];
    for (whole child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && m->heap[child + 1] < m->heap[child])
            child++;
        if (m->heap[child] >= time)
            break;
        m->heap[at] = m->heap[child];
        m->items[at] = m->items[child];
    }
    m->heap[at] = time;
    m->items[at] = m->items[count];
    return first;
}

static void enter(Machine *m, double end, whole size, whole item) {
    whole at = m->active++;
    for (; at > 0 && m->latest[at - 1] > end; at--) {
        m->latest[at] = m->latest[at - 1];
        m->sizes[at] = m->sizes[at - 1];
        m->listed[at] = m->listed[at - 1];
    }
    m->latest[at] = end;
    m->sizes[at] = size;
    m->listed[at] = item;
}

static void leave(Machine *m, double end, whole item) {
    whole at = 0, behind = m->active--;
    while (at < behind) {
        whole middle = (at + behind) >> 1;
        if (m->latest[middle] < end)
            at = middle + 1;
        else
            behind = middle;
    }
    while (m->listed[at] != item)
        at++;
    size_t after = (size_t)(m->active - at);
    memmove(m->latest + at, m->latest + at + 1, after * sizeof *m->latest);
    memmove(m->sizes + at, m->sizes + at + 1, after * sizeof *m->sizes);
    memmove(m->listed + at, m->listed + at + 1, after * sizeof *m->listed);
}
