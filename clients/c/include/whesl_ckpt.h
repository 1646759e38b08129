/* Checkpoints that are coordinated when a node is about to fail.
 *
 * An existing code needs three calls: whesl_ckpt_init once, whesl_ckpt_poll once per time step, and
 * whesl_ckpt_commit for the file that it has written. whesl_ckpt_restore finds the newest whole checkpoint.
 *
 *     whesl_ckpt *ckpt = whesl_ckpt_init(rank, ranks);
 *     int found = whesl_ckpt_restore(ckpt, path, sizeof path);
 *     if (found < 0) abort();
 *     if (found == 0) read_state(path);
 *     for (...) {
 *         step();
 *         if (whesl_ckpt_poll(ckpt)) {
 *             write_state(whesl_ckpt_path(ckpt));
 *             whesl_ckpt_commit(ckpt, whesl_ckpt_path(ckpt));
 *         }
 *     }
 *     whesl_ckpt_finish(ckpt);
 *
 * All ranks have to call whesl_ckpt_poll the same number of times for the same state: once per time step. Without an
 * agent on the node poll always returns 0, commit makes one file durable, and both say so once on standard error.
 * No call aborts the program. A client is not for several threads at once.
 */
#ifndef WHESL_CKPT_H
#define WHESL_CKPT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct whesl_ckpt whesl_ckpt;

/* Results of commit and restore besides 0. */
enum {
    WHESL_CKPT_NONE = 1,    /* there is no whole checkpoint */
    WHESL_CKPT_FAILED = -1, /* whesl_ckpt_error says why */
    WHESL_CKPT_DAMAGED = -2, /* a part does not have the size or checksum that its manifest tells */
    WHESL_CKPT_OTHER_RANKS = -3 /* the checkpoint was written by another number of ranks; it is whole, and stays */
};

/* Begin. Finds the node's agent through WHESL_CKPT_PAGE, and the directory through it or WHESL_CKPT_DIR.
 * rank: this process, from 0; ranks: how many there are. Returns NULL only without memory. */
whesl_ckpt *whesl_ckpt_init(int rank, int ranks);

/* Say, before the first poll and on all ranks, that whesl_ckpt_path is one file that all ranks write together (MPI-IO,
 * HDF5): no node writes before another then. */
void whesl_ckpt_shared(whesl_ckpt *ckpt);

/* Call once per time step, where the state is consistent. Returns 1 when this rank is to write its checkpoint now, and
 * 0 otherwise. Waits inside only while a checkpoint is being coordinated, never longer than WHESL_CKPT_PATIENCE seconds
 * (60) without a sign of life of the agent. */
static inline int whesl_ckpt_poll(whesl_ckpt *ckpt);

/* The same as a function, for languages that cannot use an inline one. */
int whesl_ckpt_poll_(whesl_ckpt *ckpt);

/* The file that this rank is to write. Valid after a poll that returned 1, until the next poll. */
const char *whesl_ckpt_path(const whesl_ckpt *ckpt);

/* Make a file durable: fsync, checksum, final name, fsync of the directory; then the agent is told. Returns 0 or
 * WHESL_CKPT_FAILED; then the whole checkpoint is given up, and the one before stays the newest. */
int whesl_ckpt_commit(whesl_ckpt *ckpt, const char *path);

/* Say that this rank cannot write its checkpoint, so that nobody waits for it. */
void whesl_ckpt_give_up(whesl_ckpt *ckpt, const char *why);

/* Find this rank's part of the newest whole checkpoint, with its checksum verified, the same checkpoint on all ranks.
 * path: receives the file's name, of a shared file the same on all ranks; size: of that buffer. Returns 0,
 * WHESL_CKPT_NONE, or an error, below 0: the program has to end then, since other ranks may have restored. It is an
 * error where WHESL_CKPT_PAGE is set and no agent answers, and where another number of ranks has written. Waits for other ranks up to WHESL_CKPT_RESTORE seconds (1800) after this
 * rank's part was verified. */
int whesl_ckpt_restore(whesl_ckpt *ckpt, char *path, size_t size);

/* The same for a program that redistributes its state by itself: of all parts each rank verifies a share, whatever number
 * of ranks has written them. parts: receives that number. All ranks have to call it. */
int whesl_ckpt_restore_all(whesl_ckpt *ckpt, int *parts);

/* The file of one of these parts: rank is who wrote it. Returns 0 or an error. */
int whesl_ckpt_part(whesl_ckpt *ckpt, int rank, char *path, size_t size);

/* The number of the checkpoint that is being written or was restored last; 0 for none. */
uint64_t whesl_ckpt_epoch(const whesl_ckpt *ckpt);

/* What went wrong last; an empty string for nothing. */
const char *whesl_ckpt_error(const whesl_ckpt *ckpt);

/* End. The pointer is not valid afterwards. */
void whesl_ckpt_finish(whesl_ckpt *ckpt);

/* What a poll costs when nothing happens: one store and one load of a page that the node's processes share. */
struct whesl_ckpt_hot {
    volatile uint64_t *count;
    const volatile uint64_t *target;
};
int whesl_ckpt_poll_slow(whesl_ckpt *ckpt);

static inline int whesl_ckpt_poll(whesl_ckpt *ckpt)
{
    const struct whesl_ckpt_hot *hot = (const struct whesl_ckpt_hot *)ckpt;
    uint64_t next = *hot->count + 1;
    /* The agent writes the target and then reads the count; this order on both sides lets one of them see the other. */
    __atomic_store_n(hot->count, next, __ATOMIC_SEQ_CST);
    if (__builtin_expect(next < __atomic_load_n(hot->target, __ATOMIC_SEQ_CST), 1)) return 0;
    return whesl_ckpt_poll_slow(ckpt);
}

#ifdef __cplusplus
}
#endif
#endif
