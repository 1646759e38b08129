/* A predictor of node failures as arrays, evaluated as `whesl.prediction.failures.compiled_predictor` does. */

/* The fields of the record `Compiled` in its order, and the number of ages of each hazard curve. */
typedef struct {
    double threshold;
    const double *ages, *hazard;
    const whole *anchor_offsets;
    const double *anchors, *age;
    const whole *curve;
    const double *scale;
    const whole *cycle_offsets;
    const double *period, *width;
    double patience;
    const whole *phase_offsets;
    const double *phases;
    const whole *event_offsets;
    const double *events, *event_probability;
    whole age_count;
} Predictor;

/* Return the index of the first of the ascending values `low` to `high - 1` that is above `value`, or at it or above
 * it if not `inclusive`; `high` if there is none. */
static whole rank(const double *values, whole low, whole high, double value, int inclusive) {
    while (low < high) {
        whole middle = (low + high) >> 1;
        if (inclusive ? values[middle] <= value : values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Return the cumulative hazard at an age, interpolated linearly and extrapolated with the last slope. */
static double cumulative(const Predictor *p, const double *hazard, double age) {
    whole last = p->age_count - 1, index = rank(p->ages, 0, p->age_count, age, 1) - 1;
    if (index >= last)
        index = last - 1;
    if (index < 0)
        return hazard[0];
    double slope = (hazard[index + 1] - hazard[index]) / (p->ages[index + 1] - p->ages[index]);
    return hazard[index] + slope * (age - p->ages[index]);
}

/* Return the probability that a node fails in [start, start + duration), by what is known at `known`. */
static double probability(const Predictor *p, whole node, double start, double duration, double known) {
    if (duration <= 0)
        return 0;
    known = known < start ? known : start;
    for (whole cycle = p->cycle_offsets[node]; cycle < p->cycle_offsets[node + 1]; cycle++) {
        whole first = p->phase_offsets[cycle];
        whole index = rank(p->phases, first, p->phase_offsets[cycle + 1], known, 1) - 1;
        if (index < first)
            continue;
        double period = p->period[cycle], width = p->width[cycle], phase = p->phases[index];
        if (known - phase > p->patience * period)
            continue;
        double times = fmax(1, floor((start - width - phase) / period) + 1);
        if (phase + times * period - width < start + duration)
            return 1;
    }
    double survival = 1, highest = 0;
    whole first = p->anchor_offsets[node], last = p->anchor_offsets[node + 1];
    if (last > first) {
        whole index = rank(p->anchors, first, last, known, 1) - 1;
        double age = index >= first ? start - p->anchors[index] : 0;
        index = index > first ? index : first;
        age += p->age[index];
        const double *hazard = p->hazard + p->curve[index] * p->age_count;
        double more = cumulative(p, hazard, age + duration) - cumulative(p, hazard, age);
        survival = exp(-more * p->scale[index]);
    }
    last = p->event_offsets[node + 1];
    for (whole at = rank(p->events, p->event_offsets[node], last, start, 0);
         at < last && p->events[at] < start + duration; at++)
        highest = fmax(highest, p->event_probability[at]);
    return 1 - survival * (1 - highest);
}
