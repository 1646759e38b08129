/* The profile of free nodes over time, in which each waiting job has a reservation. */

/* Make room for two more parts of the profile, with the present parts moved to the front. */
static void make_room(Machine *m) {
    if (m->hi + 2 <= m->parts)
        return;
    whole kept = m->hi - m->lo;
    memmove(m->times, m->times + m->lo, (size_t)kept * sizeof *m->times);
    memmove(m->frees, m->frees + m->lo, (size_t)kept * sizeof *m->frees);
    m->lo = 0;
    m->hi = kept;
    if (2 * kept + 2 <= m->parts)
        return;
    whole parts = 2 * m->parts + 64;
    m->times = grown(m, m->times, parts, sizeof *m->times);
    m->frees = grown(m, m->frees, parts, sizeof *m->frees);
    if (!m->full)
        m->parts = parts;
}

/* Return the last part that begins no later than `time`, by binary search without branches. */
static whole locate(const Machine *m, double time) {
    const double *at = m->times + m->lo;
    for (whole count = m->hi - m->lo; count > 1;) {
        whole half = count >> 1;
        at += at[half] <= time ? half : 0;
        count -= half;
    }
    return at - m->times;
}

/* Move the parts from `at` on by `by` places, which is 1 or -1. */
static void shift(Machine *m, whole at, int by) {
    size_t count = (size_t)(m->hi - at);
    memmove(m->times + at + by, m->times + at, count * sizeof *m->times);
    memmove(m->frees + at + by, m->frees + at, count * sizeof *m->frees);
    m->hi += by;
}

/* Return the part that begins at `time`; split a part if there is none. */
static whole cut(Machine *m, double time) {
    whole at = locate(m, time);
    if (m->times[at] == time)
        return at;
    shift(m, at + 1, 1);
    m->times[at + 1] = time;
    m->frees[at + 1] = m->frees[at];
    return at + 1;
}

/* Take `size` nodes from `begin` to `end`, or give nodes back if `size` is negative; return the largest number of free
 * nodes in that time. */
static whole occupy(Machine *m, double begin, double end, whole size) {
    make_room(m);
    if (m->full)
        return 0;
    whole first = cut(m, begin), last = end < INFINITY ? cut(m, end) : m->hi, most = 0;
    for (whole at = first; at < last; at++) {
        m->frees[at] -= size;
        most = m->frees[at] > most ? m->frees[at] : most;
    }
    if (last < m->hi && m->frees[last] == m->frees[last - 1])
        shift(m, last + 1, -1);
    if (first > m->lo && m->frees[first] == m->frees[first - 1])
        shift(m, first + 1, -1);
    return most;
}

/* Return the earliest start of a job before `before` and `until`, or `before` if there is none. */
static double earliest(const Machine *m, double now, whole size, double duration, double before, double until) {
    double end = before < until ? before : until;
    for (whole at = m->lo; at < m->hi && m->times[at] < end; at++) {
        if (m->frees[at] < size)
            continue;
        double start = m->times[at] > now ? m->times[at] : now;
        double over = start + duration < before ? start + duration : before;
        while (++at < m->hi && m->times[at] < over && m->frees[at] >= size)
            ;
        if (at == m->hi || m->times[at] >= over)
            return start;
    }
    return before;
}

/* Record a span in which nodes became free; if the record is full, the last span is widened to cover both. */
static void rise(Machine *m, double begin, double end) {
    if (m->spans == SPANS) {
        Span *last = m->risen + --m->spans;
        begin = begin < last->begin ? begin : last->begin;
        end = end > last->end ? end : last->end;
    }
    m->risen[m->spans++] = (Span){begin, end};
}

/* Raise `most` to the largest number of free nodes in the recorded spans, and `last` to the spans' last end. */
static void look(const Machine *m, whole *most, double *last) {
    for (whole number = 0; number < m->spans; number++) {
        Span span = m->risen[number];
        if (span.end > *last)
            *last = span.end;
        for (whole at = locate(m, span.begin); at < m->hi && m->times[at] < span.end; at++)
            if (m->frees[at] > *most)
                *most = m->frees[at];
    }
}

/* Move the reservations of jobs before `behind`, in the queue's order, to their earliest times.
 *
 * A job can move only if it fits at some time at which nodes became free, and only to a start before the last such
 * time. Nodes become free by releases since the previous call, and by moves of other jobs' reservations. */
static void compress(Machine *m, whole behind, double now) {
    whole known = m->spans, most = 0;
    double last = -INFINITY;
    look(m, &most, &last);
    for (whole job = next_waiting(m, m->first); job >= 0 && job < behind; job = next_waiting(m, job + 1)) {
        double old = m->begin[job], limit = m->limit[job];
        whole size = m->size[job];
        if (old <= now || size > most)
            continue;
        double new = earliest(m, now, size, limit, old, last);
        if (new >= old)
            continue;
        if (old < INFINITY) {
            whole risen = occupy(m, old, old + limit, -size);
            most = risen > most ? risen : most;
        } else
            most = m->nodes;
        last = old + limit > last ? old + limit : last;
        occupy(m, new, new + limit, size);
        m->begin[job] = new;
        if (m->spans == SPANS && known > SPANS - 1)
            known = SPANS - 1;
        rise(m, old, old + limit);
    }
    m->spans -= known;
    memmove(m->risen, m->risen + known, (size_t)m->spans * sizeof *m->risen);
}

/* Rebuild the profile from the running jobs alone. */
static void rebuild(Machine *m, double now) {
    m->lo = 0;
    m->hi = 1;
    m->times[0] = now;
    m->frees[0] = m->free;
    for (whole at = 0; at < m->active; at++) {
        if (m->times[m->hi - 1] != m->latest[at]) {
            make_room(m);
            if (m->full)
                return;
            m->times[m->hi] = m->latest[at];
            m->frees[m->hi] = m->frees[m->hi - 1];
            m->hi++;
        }
        m->frees[m->hi - 1] += m->sizes[at];
    }
    m->spans = 0;
}

/* Give each waiting job from `job` on its first reservation. */
static void place(Machine *m, whole job, double now) {
    for (job = next_waiting(m, job); job >= 0; job = next_waiting(m, job + 1)) {
        double begin = earliest(m, now, m->size[job], m->limit[job], INFINITY, INFINITY);
        m->begin[job] = begin;
        if (m->promise[job] == INFINITY)
            m->promise[job] = begin;
        if (begin < INFINITY)
            occupy(m, begin, begin + m->limit[job], m->size[job]);
    }
}
