/* See whesl_ckpt.h. C99 with POSIX and the atomic builtins of GCC and Clang. */
#define _POSIX_C_SOURCE 200809L
#ifdef __linux__
#define _GNU_SOURCE /* sync_file_range */
#endif

#include "whesl_ckpt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "page.h"

#define APPEARS UINT64_C(5000000000) /* ns in which a file that another node has written is seen on this one */

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

struct whesl_ckpt {
    struct whesl_ckpt_hot hot; /* first: the inline poll reads it */
    struct page_header *page;  /* NULL without an agent */
    struct page_slot *slot;
    size_t mapped;
    struct page_header idle; /* what poll reads without an agent */
    struct page_slot own;
    int rank, ranks;
    int said; /* the lack of an agent has been told */
    int shared; /* the path is one file of all ranks */
    char absent[200]; /* why there is no agent, where one was to be */
    double patience, restore; /* seconds */
    uint64_t epoch;
    char directory[896];
    char path[PATH_MAX];
    char error[256];
};

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

static void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A short pause, longer the longer was waited: processors are for those that compute and write. */
static void rest(uint64_t since)
{
    uint64_t waited = (nanoseconds() - since) / 50;
    struct timespec pause = {0, waited < 200000 ? 200000 : waited > 5000000 ? 5000000 : (long)waited};
    nanosleep(&pause, NULL);
}

static int fail(whesl_ckpt *ckpt, const char *what, const char *path, int number)
{
    snprintf(ckpt->error, sizeof ckpt->error, "%s %.150s: %s", what, path, strerror(number));
    return WHESL_CKPT_FAILED;
}

static void say_once(whesl_ckpt *ckpt, const char *what)
{
    if (!ckpt->absent[0]) snprintf(ckpt->absent, sizeof ckpt->absent, "%s", what);
    if (ckpt->said) return;
    ckpt->said = 1;
    if (ckpt->rank == 0) fprintf(stderr, "whesl_ckpt: %s: checkpoints are not coordinated\n", what);
}

/* CRC-32 as zlib computes it, eight bytes at a time. */
static uint32_t crc_table[8][256];

static void crc_prepare(void)
{
    if (crc_table[0][1]) return;
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        crc_table[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int next = 1; next < 8; next++)
            crc_table[next][byte] = crc_table[next - 1][byte] >> 8 ^ crc_table[0][crc_table[next - 1][byte] & 255];
}

static uint32_t crc_add(uint32_t crc, const unsigned char *data, size_t size)
{
    for (; size >= 8; data += 8, size -= 8) {
        uint32_t low = crc ^ ((uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
                              (uint32_t)data[3] << 24);
        crc = crc_table[7][low & 255] ^ crc_table[6][low >> 8 & 255] ^ crc_table[5][low >> 16 & 255] ^
              crc_table[4][low >> 24] ^ crc_table[3][data[4]] ^ crc_table[2][data[5]] ^ crc_table[1][data[6]] ^
              crc_table[0][data[7]];
    }
    while (size--) crc = crc >> 8 ^ crc_table[0][(crc ^ *data++) & 255];
    return crc;
}

/* The size and the checksum of a file from an offset on, at most so many bytes. */
static int checksum(int file, uint64_t offset, uint64_t most, uint64_t *bytes, uint32_t *sum)
{
    static unsigned char buffer[1 << 20];
    uint32_t crc = 0xffffffffu;
    *bytes = 0;
    crc_prepare();
    for (;;) {
        size_t room = most - *bytes < sizeof buffer ? (size_t)(most - *bytes) : sizeof buffer;
        ssize_t got = pread(file, buffer, room, (off_t)(offset + *bytes));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) break;
        crc = crc_add(crc, buffer, (size_t)got);
        *bytes += (uint64_t)got;
    }
    *sum = ~crc;
    return 0;
}

/* Whether a process runs; one that cannot be looked at does, a zombie does not. */
static int runs(pid_t pid)
{
    char text[256];
    snprintf(text, sizeof text, "/proc/%ld/stat", (long)pid);
    int file = open(text, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno != ENOENT;
    ssize_t got = read(file, text, sizeof text - 1);
    int gone = got < 0 && errno == ESRCH;
    close(file);
    text[got > 0 ? got : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return !gone && !(name_end && strpbrk(name_end, "ZX") == name_end + 2);
}

static void attach(whesl_ckpt *ckpt, const char *name)
{
    struct stat status;
    int file;
    uint64_t until = nanoseconds() + (uint64_t)(1e9 * ckpt->patience);
    /* Agents and ranks are started at the same time. */
    while ((file = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC)) < 0 && errno == ENOENT && nanoseconds() < until)
        rest(nanoseconds());
    if (file < 0) {
        fail(ckpt, "cannot open", name, errno);
        say_once(ckpt, ckpt->error);
        return;
    }
    void *memory = MAP_FAILED;
    if (fstat(file, &status) == 0 && status.st_uid == geteuid() && status.st_size >= (off_t)sizeof(struct page_header))
        memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) {
        say_once(ckpt, "the page is not this user's, or too small");
        return;
    }
    struct page_header *page = memory;
    struct page_slot *slots = (struct page_slot *)(page + 1);
    uint64_t room = ((uint64_t)status.st_size - sizeof *page) / sizeof *slots;
    if (load(&page->magic) != WHESL_CKPT_MAGIC || page->slots > room) {
        munmap(memory, (size_t)status.st_size);
        say_once(ckpt, "the agent is of another version");
        return;
    }
    for (uint64_t index = 0; index < page->slots; index++) {
        uint64_t state = load(&slots[index].state);
        int mine = state != SLOT_FREE && slots[index].rank == (uint64_t)ckpt->rank;
        if (mine && state != SLOT_FINISHED && runs((pid_t)slots[index].pid)) {
            munmap(memory, (size_t)status.st_size);
            say_once(ckpt, "another process has this rank: two programs in one job?");
            return;
        }
        if ((!mine && state != SLOT_FREE) ||
            !__atomic_compare_exchange_n(&slots[index].state, &state, SLOT_CLAIMED, 0, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST))
            continue;
        ckpt->page = page;
        ckpt->slot = &slots[index];
        ckpt->mapped = (size_t)status.st_size;
        ckpt->slot->count = ckpt->slot->verified = ckpt->slot->epoch = ckpt->slot->durable = 0;
        ckpt->slot->syncing = ckpt->slot->shared = 0;
        ckpt->slot->rank = (uint64_t)ckpt->rank;
        ckpt->slot->ranks = (uint64_t)ckpt->ranks;
        ckpt->slot->pid = (uint64_t)getpid();
        store(&ckpt->slot->state, SLOT_RUNNING);
        ckpt->hot.count = &ckpt->slot->count;
        ckpt->hot.target = &page->target;
        memcpy(ckpt->directory, page->directory, sizeof ckpt->directory);
        ckpt->directory[sizeof ckpt->directory - 1] = 0;
        return;
    }
    munmap(memory, (size_t)status.st_size);
    say_once(ckpt, "more ranks on this node than a page has room for");
}

static double seconds(const char *name, double usual)
{
    const char *given = getenv(name);
    return given && atof(given) > 0 ? atof(given) : usual;
}

whesl_ckpt *whesl_ckpt_init(int rank, int ranks)
{
    whesl_ckpt *ckpt = calloc(1, sizeof *ckpt);
    if (!ckpt) return NULL;
    ckpt->rank = rank;
    ckpt->ranks = ranks;
    ckpt->idle.target = WHESL_CKPT_IDLE;
    ckpt->hot.count = &ckpt->own.count;
    ckpt->hot.target = &ckpt->idle.target;
    ckpt->patience = seconds("WHESL_CKPT_PATIENCE", 60.0);
    ckpt->restore = seconds("WHESL_CKPT_RESTORE", 1800.0);
    const char *directory = getenv("WHESL_CKPT_DIR");
    if (directory) snprintf(ckpt->directory, sizeof ckpt->directory, "%s", directory);
    const char *page = getenv("WHESL_CKPT_PAGE");
    const char *place = page ? strstr(page, "%n") : NULL; /* the node's name, as its agent has it */
    char node[256] = "", name[PATH_MAX];
    /* Flux hands the script's environment, Slurm's variables included, to processes on other nodes. */
    if (getenv("SLURMD_NODENAME") && !getenv("FLUX_URI"))
        snprintf(node, sizeof node, "%s", getenv("SLURMD_NODENAME"));
    else
        gethostname(node, sizeof node - 1);
    if (place)
        snprintf(name, sizeof name, "%.*s%s%s", (int)(place - page), page, node, place + 2);
    else
        snprintf(name, sizeof name, "%s", page ? page : "");
    if (rank < 0 || rank >= ranks) {
        fprintf(stderr, "whesl_ckpt: rank %d of %d is none: checkpoints are not coordinated\n", rank, ranks);
        snprintf(ckpt->absent, sizeof ckpt->absent, "rank %d of %d is none", rank, ranks);
    } else if (*name)
        attach(ckpt, name);
    else
        say_once(ckpt, "no agent (WHESL_CKPT_PAGE is not set)");
    if (!*name) ckpt->absent[0] = '\0'; /* none was to be */
    return ckpt;
}

void whesl_ckpt_shared(whesl_ckpt *ckpt)
{
    ckpt->shared = 1;
    if (ckpt->slot) store(&ckpt->slot->shared, 1);
}

int whesl_ckpt_poll_slow(whesl_ckpt *ckpt)
{
    struct page_header *page = ckpt->page;
    struct page_slot *slot = ckpt->slot;
    uint64_t beat = 0, begin = nanoseconds(), seen = begin;
    for (;;) {
        uint64_t epoch = load(&page->epoch), target = load(&page->target), count = load(&slot->count);
        if (target == WHESL_CKPT_IDLE || load(&page->released) >= epoch || count != target) break;
        uint64_t state = load(&slot->state);
        /* Of an earlier checkpoint: with this one's number it would tell of the earlier part. */
        if (state == SLOT_COMMITTED || state == SLOT_FAILED) store(&slot->state, SLOT_RUNNING);
        store(&slot->epoch, epoch);
        store(&slot->target, target);
        if (load(&page->granted) == epoch && load(&page->target) == target) {
            ckpt->epoch = epoch;
            if (ckpt->shared)
                snprintf(ckpt->path, sizeof ckpt->path, "%s/%" PRIu64 "/all-ranks.part", ckpt->directory, epoch);
            else
                snprintf(ckpt->path, sizeof ckpt->path, "%s/%" PRIu64 "/rank-%d.writing", ckpt->directory, epoch,
                         ckpt->rank);
            store(&slot->durable, 0);
            store(&slot->state, SLOT_WRITING);
            return 1;
        }
        store(&slot->state, SLOT_HOLDING);
        if (load(&page->heartbeat) != beat) {
            beat = load(&page->heartbeat);
            seen = nanoseconds();
        } else if ((double)(nanoseconds() - seen) * 1e-9 > ckpt->patience) {
            say_once(ckpt, "the node's agent gives no sign of life");
            break;
        }
        rest(begin);
    }
    if (load(&slot->state) == SLOT_HOLDING) store(&slot->state, SLOT_RUNNING); /* what is committed is still to be told */
    return 0;
}

int whesl_ckpt_poll_(whesl_ckpt *ckpt) { return whesl_ckpt_poll(ckpt); }

const char *whesl_ckpt_path(const whesl_ckpt *ckpt) { return ckpt->path; }

static int sync_directory(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno;
    int number = fsync(folder) ? errno : 0;
    close(folder);
    return number;
}

static int make_durable(whesl_ckpt *ckpt, const char *path, char *name, uint64_t *bytes, uint32_t *sum)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail(ckpt, "cannot open", path, errno);
#ifdef SYNC_FILE_RANGE_WRITE
    /* The kernel writes while the checksum is computed; whether it could is what fsync says. */
    sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
    /* The checksums of a file of all ranks are computed when all of them have committed. */
    int number = ckpt->shared ? 0 : checksum(file, 0, UINT64_MAX, bytes, sum);
    if (!number && fsync(file)) number = errno;
    close(file);
    if (number) return fail(ckpt, "cannot write", path, number);
    snprintf(name, PATH_MAX, "%s", path);
    char *ending = strrchr(name, '.');
    if (ending && !ckpt->shared && strcmp(ending, ".writing") == 0) {
        strcpy(ending, ".part");
        if (rename(path, name)) return fail(ckpt, "cannot rename", path, errno);
    }
    number = sync_directory(name);
    return number ? fail(ckpt, "cannot write the directory of", path, number) : 0;
}

/* Whether a file is in the directory of the present checkpoint: a manifest names files there. */
static int is_part(const whesl_ckpt *ckpt, const char *name)
{
    char own[PATH_MAX], given[PATH_MAX];
    struct stat mine, theirs;
    snprintf(own, sizeof own, "%s/%" PRIu64, ckpt->directory, ckpt->epoch);
    snprintf(given, sizeof given, "%s", name);
    return stat(own, &mine) == 0 && stat(dirname(given), &theirs) == 0 && mine.st_dev == theirs.st_dev &&
           mine.st_ino == theirs.st_ino;
}

/* Whether the checkpoint was given up: nobody needs the rank's file any longer, and it is removed. */
static int is_over(whesl_ckpt *ckpt, const char *name)
{
    if (load(&ckpt->page->released) < ckpt->epoch) return 0;
    store(&ckpt->slot->state, SLOT_RUNNING);
    if (is_part(ckpt, name)) unlink(name);
    return 1;
}

int whesl_ckpt_commit(whesl_ckpt *ckpt, const char *path)
{
    char name[PATH_MAX] = "";
    uint64_t bytes = 0;
    uint32_t sum = 0;
    int coordinated = ckpt->slot && load(&ckpt->slot->state) == SLOT_WRITING;
    if (coordinated) store(&ckpt->slot->syncing, ckpt->epoch);
    int result = make_durable(ckpt, path, name, &bytes, &sum);
    if (!coordinated) {
        if (!ckpt->slot) say_once(ckpt, "no agent");
        return result;
    }
    if (is_over(ckpt, *name ? name : path)) return 0;
    const char *last = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    if (result == 0 && strlen(last) >= sizeof ckpt->slot->text)
        result = fail(ckpt, "cannot note", path, ENAMETOOLONG);
    if (result == 0 && (last[strcspn(last, " \t\n\v\f\r")] || !is_part(ckpt, name))) {
        snprintf(ckpt->error, sizeof ckpt->error, "cannot commit %.120s: its name has a blank, or it is not in the "
                 "directory of whesl_ckpt_path", path);
        result = WHESL_CKPT_FAILED;
    }
    if (result) {
        whesl_ckpt_give_up(ckpt, ckpt->error);
        return result;
    }
    memcpy(ckpt->slot->text, last, strlen(last) + 1);
    ckpt->slot->bytes = bytes;
    ckpt->slot->checksum = sum;
    store(&ckpt->slot->durable, ckpt->epoch);
    store(&ckpt->slot->state, SLOT_COMMITTED);
    return 0;
}

void whesl_ckpt_give_up(whesl_ckpt *ckpt, const char *why)
{
    if (!ckpt->slot || load(&ckpt->slot->state) != SLOT_WRITING) return;
    snprintf(ckpt->slot->text, sizeof ckpt->slot->text, "%s", why);
    store(&ckpt->slot->state, SLOT_FAILED);
}

/* Open a file that another node may have written: a network file system shows it only later. */
static int open_patiently(const char *name)
{
    uint64_t begin = nanoseconds();
    for (;;) {
        int file = open(name, O_RDONLY | O_CLOEXEC);
        int again = file < 0 && (errno == ENOENT || errno == ESTALE || errno == EIO || errno == EAGAIN);
        if (!again || nanoseconds() - begin > APPEARS) return file;
        rest(begin);
    }
}

struct part {
    int rank;
    uint64_t bytes, offset;
    uint32_t sum;
    char name[256];
};

static int next_part(FILE *manifest, struct part *part)
{
    char line[512];
    while (fgets(line, sizeof line, manifest))
        if (sscanf(line, "part %d %" SCNu64 " %" SCNx32 " %255s %" SCNu64, &part->rank, &part->bytes, &part->sum,
                   part->name, &part->offset) == 5)
            return !strchr(part->name, '/');
    return 0;
}

/* Open a checkpoint's manifest and count its parts. Without it: NULL, and the result says whether it is damaged. */
static FILE *open_manifest(whesl_ckpt *ckpt, uint64_t epoch, int *ranks, int *result)
{
    char name[PATH_MAX], line[512] = "";
    struct part part;
    snprintf(name, sizeof name, "%s/%" PRIu64 "/manifest", ckpt->directory, epoch);
    int file = open_patiently(name);
    FILE *manifest = file < 0 ? NULL : fdopen(file, "r");
    if (!manifest) {
        *result = errno == ENOENT ? WHESL_CKPT_DAMAGED : WHESL_CKPT_FAILED;
        fail(ckpt, "cannot open", name, errno);
        return NULL;
    }
    for (*ranks = 0; next_part(manifest, &part);) ++*ranks;
    rewind(manifest);
    int told = 0, whole = 0;
    while (fgets(line, sizeof line, manifest)) {
        sscanf(line, "ranks %d", &told);
        whole = strncmp(line, "end ", 4) == 0;
    }
    rewind(manifest);
    if (whole && told == *ranks) return manifest;
    fclose(manifest);
    snprintf(ckpt->error, sizeof ckpt->error, "%.200s is torn", name);
    *result = WHESL_CKPT_DAMAGED;
    return NULL;
}

static int verify_part(whesl_ckpt *ckpt, uint64_t epoch, const struct part *part)
{
    char path[PATH_MAX];
    uint64_t counted = 0;
    uint32_t actual = 0;
    snprintf(path, sizeof path, "%s/%" PRIu64 "/%s", ckpt->directory, epoch, part->name);
    int file = open_patiently(path);
    if (file < 0) {
        int gone = errno == ENOENT;
        fail(ckpt, "cannot open", path, errno);
        return gone ? WHESL_CKPT_DAMAGED : WHESL_CKPT_FAILED;
    }
    int number = checksum(file, part->offset, part->bytes, &counted, &actual);
    close(file);
    if (number) return fail(ckpt, "cannot read", path, number);
    if (counted == part->bytes && actual == part->sum) return 0;
    snprintf(ckpt->error, sizeof ckpt->error, "%.200s is not what its manifest tells", path);
    return WHESL_CKPT_DAMAGED;
}

/* Verify this rank's share of a checkpoint: its own part; of those of more ranks each that falls to it. */
static int verify(whesl_ckpt *ckpt, uint64_t epoch, int redistributes)
{
    struct part part;
    int ranks = 0, result = 0;
    FILE *manifest = open_manifest(ckpt, epoch, &ranks, &result);
    if (!manifest) return result;
    if (ranks != ckpt->ranks && !redistributes) {
        snprintf(ckpt->error, sizeof ckpt->error,
                 "nothing was restored: checkpoint %" PRIu64 " has parts of %d ranks, and this program has %d", epoch,
                 ranks, ckpt->ranks);
        result = WHESL_CKPT_OTHER_RANKS;
    }
    while (!result && next_part(manifest, &part))
        if (part.rank % ckpt->ranks == ckpt->rank) result = verify_part(ckpt, epoch, &part);
    fclose(manifest);
    return result;
}

static int restore(whesl_ckpt *ckpt, int redistributes)
{
    struct page_header *page = ckpt->page;
    if (!page && ckpt->absent[0]) {
        snprintf(ckpt->error, sizeof ckpt->error, "nothing was restored: %s", ckpt->absent);
        return WHESL_CKPT_FAILED;
    }
    if (!page) {
        snprintf(ckpt->error, sizeof ckpt->error, "without an agent ranks cannot agree on a checkpoint");
        return WHESL_CKPT_NONE;
    }
    uint64_t answered = 0, beat = 0, begin = nanoseconds(), seen = begin, since = begin;
    for (;;) {
        uint64_t candidate = load(&page->candidate), agreed = load(&page->agreed);
        if (agreed == WHESL_CKPT_IDLE) return WHESL_CKPT_NONE;
        if (agreed && agreed == answered) {
            ckpt->epoch = agreed;
            return 0;
        }
        if (candidate && candidate != answered && candidate != WHESL_CKPT_IDLE) {
            store(&ckpt->slot->verified, 0); /* until this one is looked at */
            int result = verify(ckpt, candidate, redistributes);
            if (result != 0 && result != WHESL_CKPT_DAMAGED) return result; /* what cannot be read is not damaged */
            answered = candidate;
            store(&ckpt->slot->verified, candidate * 2 + (result == 0));
            since = nanoseconds();
        }
        if (load(&page->heartbeat) != beat) {
            beat = load(&page->heartbeat);
            seen = nanoseconds();
        } else if ((double)(nanoseconds() - seen) * 1e-9 > ckpt->patience) {
            snprintf(ckpt->error, sizeof ckpt->error, "the node's agent gives no sign of life");
            return WHESL_CKPT_FAILED;
        }
        if ((double)(nanoseconds() - since) * 1e-9 > ckpt->restore) {
            store(&ckpt->slot->verified, 0); /* others are not to restore what this rank does not */
            char what[80] = "the coordinator has named no checkpoint";
            if (answered) snprintf(what, sizeof what, "not all ranks have verified checkpoint %" PRIu64, answered);
            snprintf(ckpt->error, sizeof ckpt->error,
                     "nothing was restored: %s within %g s (WHESL_CKPT_RESTORE): is each rank started, and an agent on "
                     "each node?", what, ckpt->restore);
            return WHESL_CKPT_FAILED;
        }
        rest(begin);
    }
}

int whesl_ckpt_restore(whesl_ckpt *ckpt, char *path, size_t size)
{
    int result = restore(ckpt, 0);
    return result ? result : whesl_ckpt_part(ckpt, ckpt->rank, path, size);
}

int whesl_ckpt_restore_all(whesl_ckpt *ckpt, int *parts)
{
    int result = restore(ckpt, 1);
    FILE *manifest = result ? NULL : open_manifest(ckpt, ckpt->epoch, parts, &result);
    if (manifest) fclose(manifest);
    return result;
}

int whesl_ckpt_part(whesl_ckpt *ckpt, int rank, char *path, size_t size)
{
    struct part part;
    int ranks = 0, result = 0;
    FILE *manifest = open_manifest(ckpt, ckpt->epoch, &ranks, &result);
    if (!manifest) return result;
    result = WHESL_CKPT_DAMAGED;
    while (result == WHESL_CKPT_DAMAGED && next_part(manifest, &part)) {
        if (part.rank != rank) continue;
        result = 0;
        if ((size_t)snprintf(path, size, "%s/%" PRIu64 "/%s", ckpt->directory, ckpt->epoch, part.name) >= size)
            result = fail(ckpt, "no room for the name of", part.name, ENAMETOOLONG);
    }
    fclose(manifest);
    if (result == WHESL_CKPT_DAMAGED)
        snprintf(ckpt->error, sizeof ckpt->error, "checkpoint %" PRIu64 " has no part of rank %d", ckpt->epoch, rank);
    return result;
}

uint64_t whesl_ckpt_epoch(const whesl_ckpt *ckpt) { return ckpt->epoch; }

const char *whesl_ckpt_error(const whesl_ckpt *ckpt) { return ckpt->error; }

void whesl_ckpt_finish(whesl_ckpt *ckpt)
{
    if (!ckpt) return;
    if (ckpt->slot) {
        store(&ckpt->slot->state, SLOT_FINISHED);
        munmap(ckpt->page, ckpt->mapped);
    }
    free(ckpt);
}
