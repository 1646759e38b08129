/* The choice of nodes of the policy `reliable`, as in `whesl.placement.policies.reliable`. */

static const double AFTERWARDS = 1e-6, CERTAIN = 1e-12;

static int by_key(const void *one, const void *other) {
    const Candidate *a = one, *b = other;
    return a->key != b->key ? (a->key < b->key ? -1 : 1) : (a->node > b->node) - (a->node < b->node);
}

static int by_node(const void *one, const void *other) {
    const Candidate *a = one, *b = other;
    return (a->node > b->node) - (a->node < b->node);
}

/* Put the free nodes of least risk for a job into the first elements of `candidates`, ascending; return the
 * probability that one of these nodes fails while the job runs from `begin` on. */
static double select_nodes(Machine *m, Candidate *candidates, whole job, double begin, double now) {
    whole size = m->size[job], count = 0;
    double limit = m->limit[job], total = 0;
    for (whole place = 0; place <= m->nodes >> 6; place++)
        for (uint64_t word = m->free_nodes[place]; word; word &= word - 1) {
            whole node = (place << 6) + __builtin_ctzll(word);
            double during = probability(m->predictor, node, begin, limit, now);
            double afterwards = probability(m->predictor, node, begin + limit, limit, now);
            double safe = log(fmax(1 - during, CERTAIN));
            candidates[count++] = (Candidate){node, -safe - AFTERWARDS * afterwards, safe};
        }
    qsort(candidates, (size_t)count, sizeof *candidates, by_key);
    qsort(candidates, (size_t)size, sizeof *candidates, by_node);
    for (whole at = 0; at < size; at++)
        total -= candidates[at].safe;
    return 1 - exp(-total);
}

/* Return the expected loss by a job's failure, in node-seconds. */
static double expected_loss(const Machine *m, whole job, double chance) {
    double limit = m->limit[job], checkpoint = m->checkpoint[job];
    return chance * 0.5 * (limit < checkpoint ? limit : checkpoint) * (double)m->size[job];
}

static void flip_runs(Machine *m, whole attempt) {
    for (whole run = m->offsets[attempt]; run < m->offsets[attempt + 1]; run++)
        flip(m->free_nodes, m->runs->first[run], m->runs->length[run]);
}

/* Choose a job's nodes; return whether the job starts now, rather than when the next running job ends.
 *
 * A job that waits without a head before it becomes the head, with that end as its reservation. */
static int choose(Machine *m, whole job, double now) {
    double loss = expected_loss(m, job, select_nodes(m, m->chosen, job, now, now)), next = m->latest[0];
    if (!(loss > 0 && m->active > 0 && now < next && next <= m->submit[job] + m->limit[job]))
        return 1;
    whole size = m->size[job];
    flip_runs(m, m->listed[0]);
    double later = expected_loss(m, job, select_nodes(m, m->other, job, next, now));
    flip_runs(m, m->listed[0]);
    if (!(loss - later > (next - now) * (double)size))
        return 1;
    m->due = next < m->due ? next : m->due;
    m->stale = 1;
    if (m->head < 0) {
        m->head = job;
        m->shadow = next;
        m->extra = m->free + m->sizes[0] - size;
    }
    return 0;
}

/* Give the chosen nodes to the last attempt. */
static void take_chosen(Machine *m, whole count) {
    m->free -= count;
    for (whole at = 0; at < count; at++) {
        flip(m->free_nodes, m->chosen[at].node, 1);
        add_run(m, m->chosen[at].node, 1);
    }
}
