/* FCFS, EASY, conservative backfilling and `reliable` on individual nodes, which may fail.
 *
 * At equal times the order is: ends of jobs, failures and repairs, arrivals, one pass of the policy. A job whose node
 * fails is killed, waits again at its place by arrival, and resumes from its own last checkpoint.
 *
 * EASY: D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995. Conservative backfilling: A. Mu'alem, D. Feitelson,
 * IEEE TPDS 12(6), 2001: a job that arrives gets the earliest reservation beside all running and reserved jobs; when
 * nodes become free before a job's estimated end, each reservation, in the queue's order, moves to its earliest time.
 * `reliable`: EASY, but a job takes the nodes of least risk, or waits where that saves more than it costs.
 */
#include "machine.h"
#include "waiting_jobs.h"
#include "reservations.h"
#include "reliable.h"

static void release(Machine *m, whole attempt, double now) {
    whole job = m->job[attempt];
    double latest = m->start[attempt] + m->limit[job];
    m->end[attempt] = now;
    for (whole run = m->offsets[attempt]; run < m->offsets[attempt + 1]; run++)
        set_free(m, m->runs->first[run], m->runs->length[run]);
    leave(m, latest, attempt);
    m->stale = 1;
    if (m->policy == CONSERVATIVE && !m->anew && latest > now) {
        occupy(m, now, latest, -m->size[job]);
        rise(m, now, latest);
    }
}

static void fail(Machine *m, whole node, double now) {
    m->stale = m->anew = 1;
    if (!(m->free_nodes[node >> 6] >> (node & 63) & 1)) {
        whole attempt = m->owner[node], job = m->job[attempt];
        double elapsed = now - m->start[attempt], interval = m->checkpoint[job];
        release(m, attempt, now);
        m->killed[attempt] = 1;
        double kept = interval < INFINITY && interval > 0 ? floor(elapsed / interval) * interval : 0;
        m->left[job] -= kept;
        m->limit[job] -= kept;
        add_waiting(m, job);
    }
    m->free_nodes[node >> 6] &= ~(1ULL << (node & 63));
    m->free--;
}

static void repair(Machine *m, whole node) {
    m->stale = m->anew = 1;
    set_free(m, node, 1);
}

static void start_job(Machine *m, whole job, double now) {
    whole attempt = m->attempts;
    m->waits[job >> 6] &= ~(1ULL << (job & 63));
    m->waiting--;
    m->job[attempt] = job;
    m->start[attempt] = now;
    m->end[attempt] = INFINITY;
    m->killed[attempt] = 0;
    if (m->policy == RELIABLE)
        take_chosen(m, m->size[job]);
    else
        take(m, m->size[job]);
    if (m->owner)
        for (whole run = m->offsets[attempt]; run < m->runs->count; run++)
            for (whole node = 0; node < m->runs->length[run]; node++)
                m->owner[m->runs->first[run] + node] = attempt;
    push(m, now + m->left[job], attempt);
    enter(m, now + m->limit[job], m->size[job], attempt);
    m->offsets[++m->attempts] = m->runs->count;
}

/* Start the jobs whose reservations begin now, and set `due` to the begin of the next reservation. */
static void start_reserved(Machine *m, whole fresh, double now) {
    if (m->anew) {
        rebuild(m, now);
        place(m, 0, now);
    } else {
        if (m->stale && m->spans)
            compress(m, fresh, now);
        place(m, fresh, now);
    }
    m->stale = m->anew = 0;
    m->due = INFINITY;
    whole job = next_waiting(m, m->first);
    m->first = job >= 0 ? job : m->arrived;
    for (; job >= 0 && !m->full; job = next_waiting(m, job + 1)) {
        if (m->begin[job] <= now)
            start_job(m, job, now);
        else if (m->begin[job] < m->due)
            m->due = m->begin[job];
    }
}

/* Start jobs in order of arrival until one, the head, waits; but under FCFS, also start jobs that do not delay it.
 *
 * While no node is released, the head's reservation holds, and no earlier job behind the head can start. */
static void start_in_order(Machine *m, whole fresh, double now) {
    if (now >= m->due)
        m->stale = 1;
    if (m->stale || m->head < 0) {
        m->head = -1;
        m->due = INFINITY;
        fresh = m->first;
    }
    while (m->free > 0 && !m->full) {
        whole job;
        if (m->head < 0) {
            job = next_waiting(m, fresh);
            m->first = job < 0 ? m->arrived : job;
            if (job >= 0 && m->size[job] > m->free) {
                m->head = job;
                m->stale = 0;
                reserve(m);
                fresh = job + 1;
                continue;
            }
        } else
            job = m->policy == FCFS ? -1 : fitting(m, fresh, now);
        if (job < 0)
            return;
        fresh = job + 1;
        if (m->policy == RELIABLE && !choose(m, job, now))
            continue;
        if (m->head >= 0 && now + m->limit[job] > m->shadow)
            m->extra -= m->size[job];
        start_job(m, job, now);
    }
}

static void run(Machine *m, whole changes, const double *fault_time, const whole *fault_node, const uint8_t *fault_up) {
    whole change = 0;
    while (!m->full && (m->arrived < m->count || m->active > 0 || m->waiting > 0)) {
        while (m->pending > 0 && m->killed[m->items[0]])
            pop(m);
        double now = m->arrived < m->count ? m->submit[m->arrived] : INFINITY;
        if (m->pending > 0 && m->heap[0] < now)
            now = m->heap[0];
        if (change < changes && fault_time[change] < now)
            now = fault_time[change];
        if (m->waiting > 0 && m->due < now)
            now = m->due;
        if (now == INFINITY)
            return;
        while (m->lo + 1 < m->hi && m->times[m->lo + 1] <= now)
            m->lo++;
        while (m->pending > 0 && m->heap[0] == now) {
            whole attempt = pop(m);
            if (!m->killed[attempt])
                release(m, attempt, now);
        }
        for (; change < changes && fault_time[change] == now; change++) {
            if (fault_up[change])
                repair(m, fault_node[change]);
            else
                fail(m, fault_node[change], now);
        }
        whole fresh = m->arrived;
        for (; m->arrived < m->count && m->submit[m->arrived] == now; m->arrived++)
            add_waiting(m, m->arrived);
        if (m->policy == CONSERVATIVE)
            start_reserved(m, fresh, now);
        else
            start_in_order(m, fresh, now);
    }
}

static void *array(Machine *m, whole count, size_t size) {
    void *made = calloc((size_t)(count > 0 ? count : 1), size);
    if (!made)
        m->full = 1;
    return made;
}

void forget(Runs *runs) {
    free(runs->first);
    free(runs->length);
}

/* Simulate jobs to the end, and return the number of attempts, or -1 if memory is lacking.
 *
 * Jobs are in order of submission; `left` and `limit`, their run times and estimates, are changed. `promise` receives
 * the first reservations of conservative backfilling; `reliable` alone asks `predictor`. Arrays of attempts have room for each job and each failure.
 * `runs` is empty before the call; the caller frees it with `forget`. A job that never fits, because nodes stay down,
 * has no attempt. */
whole simulate(
    int policy, whole nodes, whole count, const double *submit, const whole *size, double *left, double *limit,
    const double *checkpoint, double *promise, whole changes, const double *fault_time, const whole *fault_node,
    const uint8_t *fault_up, const Predictor *predictor, whole *job, double *start, double *end, uint8_t *killed,
    whole *offsets, Runs *runs
) {
    Machine m = {
        .policy = policy, .nodes = nodes, .count = count, .submit = submit, .size = size, .left = left, .limit = limit,
        .checkpoint = checkpoint, .promise = promise, .job = job, .start = start, .end = end, .killed = killed,
        .offsets = offsets, .runs = runs, .head = -1, .shadow = INFINITY, .due = INFINITY, .stale = 1, .hi = 1,
        .parts = 64, .predictor = predictor,
    };
    whole most = nodes < count ? nodes : count, words = (count >> 6) + 1, groups = (words >> 6) + 1;
    m.free_nodes = array(&m, (nodes >> 6) + 1, sizeof *m.free_nodes);
    m.owner = changes ? array(&m, nodes, sizeof *m.owner) : NULL;
    m.waits = array(&m, groups << 6, sizeof *m.waits);
    m.words = array(&m, groups << 6, sizeof *m.words);
    m.groups = array(&m, groups, sizeof *m.groups);
    m.latest = array(&m, most + 1, sizeof *m.latest);
    m.sizes = array(&m, most + 1, sizeof *m.sizes);
    m.listed = array(&m, most + 1, sizeof *m.listed);
    m.heap = array(&m, most + changes + 1, sizeof *m.heap);
    m.items = array(&m, most + changes + 1, sizeof *m.items);
    m.begin = array(&m, policy == CONSERVATIVE ? count : 0, sizeof *m.begin);
    m.chosen = array(&m, policy == RELIABLE ? nodes : 0, sizeof *m.chosen);
    m.other = array(&m, policy == RELIABLE ? nodes : 0, sizeof *m.other);
    m.times = array(&m, m.parts, sizeof *m.times);
    m.frees = array(&m, m.parts, sizeof *m.frees);
    if (!m.full) {
        for (whole group = 0; group < groups; group++)
            m.groups[group] = (Bound){INT64_MAX, INFINITY};
        for (whole at = 0; policy == CONSERVATIVE && at < count; at++)
            m.begin[at] = promise[at] = INFINITY;
        m.times[0] = -INFINITY;
        m.frees[0] = nodes;
        offsets[0] = 0;
        set_free(&m, 0, nodes);
        run(&m, changes, fault_time, fault_node, fault_up);
    }
    void *made[] = {m.free_nodes, m.owner, m.waits, m.words,  m.groups, m.latest, m.sizes, m.listed,
                    m.heap,       m.items, m.begin, m.chosen, m.other,  m.times,  m.frees};
    for (size_t at = 0; at < sizeof made / sizeof *made; at++)
        free(made[at]);
    return m.full ? -1 : m.attempts;
}
