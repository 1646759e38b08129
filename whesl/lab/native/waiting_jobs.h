/* The waiting jobs: a bit set in order of arrival. A search skips blocks if no job within their bounds could start. */

static void lower(Bound *bound, whole size, double limit) {
    if (size < bound->size)
        bound->size = size;
    if (limit < bound->limit)
        bound->limit = limit;
}

static void add_waiting(Machine *m, whole job) {
    whole word = job >> 6;
    if (!m->waits[word])
        m->words[word] = (Bound){INT64_MAX, INFINITY};
    lower(m->words + word, m->size[job], m->limit[job]);
    lower(m->groups + (word >> 6), m->size[job], m->limit[job]);
    m->waits[word] |= 1ULL << (job & 63);
    m->waiting++;
    if (job < m->first)
        m->first = job;
}

static whole next_waiting(const Machine *m, whole job) {
    if (job >= m->arrived)
        return -1;
    whole place = job >> 6, end = (m->arrived + 63) >> 6;
    uint64_t word = m->waits[place] & (~0ULL << (job & 63));
    while (!word) {
        if (++place >= end)
            return -1;
        word = m->waits[place];
    }
    return (place << 6) + __builtin_ctzll(word);
}

/* Return whether a job may start before the head: it ends by the head's shadow time, or uses none of its nodes. */
static int may_overtake(const Machine *m, whole size, double limit, double now) {
    return size <= m->free && (size <= m->extra || now + limit <= m->shadow);
}

static void tighten(Machine *m, whole group) {
    Bound bound = {INT64_MAX, INFINITY};
    for (whole place = group << 6; place < (group + 1) << 6; place++)
        if (m->waits[place])
            lower(&bound, m->words[place].size, m->words[place].limit);
    m->groups[group] = bound;
}

/* Return the first waiting job from `job` on that may overtake the head, or -1. */
static whole fitting(Machine *m, whole job, double now) {
    if (job >= m->arrived)
        return -1;
    whole place = job >> 6, end = (m->arrived + 63) >> 6;
    uint64_t word = m->waits[place] & (~0ULL << (job & 63));
    int all = (job & 63) == 0;
    for (;;) {
        if (word) {
            Bound bound = {INT64_MAX, INFINITY};
            for (; word; word &= word - 1) {
                whole at = (place << 6) + __builtin_ctzll(word);
                if (may_overtake(m, m->size[at], m->limit[at], now))
                    return at;
                lower(&bound, m->size[at], m->limit[at]);
            }
            if (all)
                m->words[place] = bound;
        }
        place++;
        if (!(place & 63)) {
            tighten(m, (place >> 6) - 1);
            while (place < end && !may_overtake(m, m->groups[place >> 6].size, m->groups[place >> 6].limit, now))
                place += 64;
        }
        if (place >= end)
            return -1;
        all = 1;
        word = m->waits[place];
        if (word && !may_overtake(m, m->words[place].size, m->words[place].limit, now))
            word = 0;
    }
}

/* Set the head's shadow time, and the number of nodes that the head leaves free then. */
static void reserve(Machine *m) {
    whole at = 0, free = m->free, need = m->size[m->head];
    while (at < m->active && free < need)
        free += m->sizes[at++];
    m->shadow = INFINITY;
    m->extra = 0;
    if (free < need)
        return;
    m->shadow = m->latest[at - 1];
    while (at < m->active && m->latest[at] == m->shadow)
        free += m->sizes[at++];
    m->extra = free - need;
}
