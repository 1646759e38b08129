/* A check that is fast for the numbers of nodes of large machines. */
#include <stdint.h>

/* Return whether no node holds two attempts at a time.
 *
 * Attempts are in order of start, and all runs are on existing nodes. `until` has one element per node, all -inf. */
int apart(
    int64_t attempts, const double *start, const double *end, const int64_t *offsets, const int32_t *first,
    const int32_t *length, double *until
) {
    for (int64_t attempt = 0; attempt < attempts; attempt++)
        for (int64_t run = offsets[attempt]; run < offsets[attempt + 1]; run++)
            for (int64_t node = first[run]; node < first[run] + length[run]; node++) {
                if (until[node] > start[attempt])
                    return 0;
                until[node] = end[attempt];
            }
    return 1;
}
