/*
 * A passthrough file system (FUSE) that behaves as NFS does between hosts.
 *
 * One backing directory is the server's; each mount of it is one host. Attributes and the absence of names are
 * cached, an open() asks the server again (close-to-open), an open file that this host removes is renamed, one
 * that another host removes becomes stale, and inotify says nothing of what other hosts write. Locks hold between
 * hosts, unless mounted with "local". Writes of all mounts share one bandwidth. The faults are set while it runs (struct faults below). It is no NFS client:
 * neither the protocol nor its recovery is here.
 *
 * usage: nfslike BACKING MOUNTPOINT local|shared ATTRIBUTES NAMES ABSENCES   (cached for so many seconds)
 *
 * A line on standard input sets all faults, and is answered with "set"; the first "set" means mounted. At the end of
 * standard input the file system is unmounted and ends, whatever waits in it.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { NAME_LENGTH = 256, DESCRIPTORS = 65536 };

struct faults {
    int latency_us;              /* before each call */
    int error_permil;            /* of the calls that fit `operations` and `path` fail */
    int error;                   /* with this errno */
    int error_count;             /* that many times; -1: always */
    int stalled;                 /* each call waits: the server is away, and the mount is hard */
    int flock_error;             /* flock() fails with this errno; 0: it works */
    int fcntl_error;             /* the same for fcntl()'s locks */
    long bandwidth;              /* bytes a second that all mounts together may write; 0: any number */
    int crashed;                 /* locks stay when their owners end, as the server keeps those of a dead client */
    char operations[NAME_LENGTH]; /* ",write,fsync,"; "-": all */
    char path[NAME_LENGTH];      /* part of the path; "-": any */
};

static struct faults faults = {.error = EIO, .error_count = -1, .operations = "-", .path = "-"};
static pthread_mutex_t faults_mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *backing_path, *mount_path;
static int backing;
static double attributes_s, names_s, absences_s;

/* Faults */

static int matches(const char *operation, const char *path)
{
    char item[NAME_LENGTH];

    snprintf(item, sizeof item, ",%s,", operation);
    if (strcmp(faults.operations, "-") != 0 && strstr(faults.operations, item) == NULL)
        return 0;
    return strcmp(faults.path, "-") == 0 || (path != NULL && strstr(path, faults.path) != NULL);
}

/* Wait and fail as the faults ask for: 0, or a negative errno. */
static int before(const char *operation, const char *path)
{
    static unsigned seed = 1;
    int latency, result = 0;

    for (;;) {
        pthread_mutex_lock(&faults_mutex);
        if (!faults.stalled)
            break;
        pthread_mutex_unlock(&faults_mutex);
        if (fuse_interrupted())
            return -EINTR; /* a killed process ends, as one that waits for a hard NFS mount */
        usleep(10000);
    }
    latency = faults.latency_us;
    if (faults.error_permil > 0 && faults.error_count != 0 && matches(operation, path)
        && (int)(rand_r(&seed) % 1000) < faults.error_permil) {
        result = -faults.error;
        if (faults.error_count > 0)
            faults.error_count--;
    }
    pthread_mutex_unlock(&faults_mutex);
    if (latency > 0)
        usleep((useconds_t)latency);
    return result;
}

/* One token bucket for all mounts of a backing directory: when the next byte may be written, in nanoseconds. It
 * holds what may be written in BURST_NS, so that one writer gets all of the bandwidth, whenever it is woken. */
enum { BURST_NS = 50000000 };
static _Atomic uint64_t *bucket;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void take_turn(size_t size)
{
    uint64_t taken, begin, end, now = now_ns();
    long bandwidth;

    pthread_mutex_lock(&faults_mutex);
    bandwidth = faults.bandwidth;
    pthread_mutex_unlock(&faults_mutex);
    if (bandwidth <= 0)
        return;
    taken = atomic_load(bucket);
    do {
        begin = taken > now - BURST_NS ? taken : now - BURST_NS;
        end = begin + (uint64_t)(1e9 * (double)size / (double)bandwidth);
    } while (!atomic_compare_exchange_weak(bucket, &taken, end));
    while ((now = now_ns()) < end)
        usleep((useconds_t)((end - now) / 1000 + 1));
}

static int open_bucket(const char *path)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *memory;

    if (descriptor < 0 || ftruncate(descriptor, sizeof *bucket) != 0)
        return -1;
    memory = mmap(NULL, sizeof *bucket, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    bucket = memory;
    return memory == MAP_FAILED ? -1 : 0;
}

#define BEFORE(operation, path)                        \
    do {                                               \
        int before_error = before((operation), (path)); \
        if (before_error != 0)                         \
            return before_error;                       \
    } while (0)

static int result_of(long value)
{
    return value == -1 ? -errno : 0;
}

/* Paths of FUSE begin with a slash, those below a directory's descriptor do not. */
static const char *below(const char *path)
{
    return path[1] != '\0' ? path + 1 : ".";
}

/* A file that another host removed or replaced has no name left: this host's own are kept as .fuse_hidden*. */
static int stale(struct fuse_file_info *info)
{
    struct stat status;

    return fstat((int)info->fh, &status) == 0 && status.st_nlink == 0;
}

/* Names and attributes */

static int op_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    BEFORE("getattr", path);
    if (info != NULL)
        return stale(info) ? -ESTALE : result_of(fstat((int)info->fh, status));
    return result_of(fstatat(backing, below(path), status, AT_SYMLINK_NOFOLLOW));
}

static int op_access(const char *path, int mode)
{
    BEFORE("access", path);
    return result_of(faccessat(backing, below(path), mode, 0));
}

static int op_readlink(const char *path, char *target, size_t size)
{
    ssize_t length;

    BEFORE("readlink", path);
    length = readlinkat(backing, below(path), target, size - 1);
    if (length < 0)
        return -errno;
    target[length] = '\0';
    return 0;
}

static int op_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
                      struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    int descriptor;
    DIR *directory;
    struct dirent *entry;

    (void)offset, (void)info, (void)flags;
    BEFORE("readdir", path);
    descriptor = openat(backing, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    directory = fdopendir(descriptor);
    if (directory == NULL) {
        close(descriptor);
        return -ENOMEM;
    }
    while ((entry = readdir(directory)) != NULL) {
        struct stat status = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};

        if (fill(buffer, entry->d_name, &status, 0, 0) != 0)
            break;
    }
    closedir(directory);
    return 0;
}

/* What is made belongs to the caller, not to the file system's process. */
static int made(const char *path, long result)
{
    struct fuse_context *context = fuse_get_context();

    if (result == -1)
        return -errno;
    return result_of(fchownat(backing, below(path), context->uid, context->gid, AT_SYMLINK_NOFOLLOW));
}

static int op_mknod(const char *path, mode_t mode, dev_t device)
{
    BEFORE("mknod", path);
    return made(path, mknodat(backing, below(path), mode, device));
}

static int op_mkdir(const char *path, mode_t mode)
{
    BEFORE("mkdir", path);
    return made(path, mkdirat(backing, below(path), mode));
}

static int op_symlink(const char *target, const char *path)
{
    BEFORE("symlink", path);
    return made(path, symlinkat(target, backing, below(path)));
}

static int op_unlink(const char *path)
{
    BEFORE("unlink", path);
    return result_of(unlinkat(backing, below(path), 0));
}

static int op_rmdir(const char *path)
{
    BEFORE("rmdir", path);
    return result_of(unlinkat(backing, below(path), AT_REMOVEDIR));
}

static int op_rename(const char *from, const char *to, unsigned flags)
{
    BEFORE("rename", from);
    return flags != 0 ? -EINVAL : result_of(renameat(backing, below(from), backing, below(to)));
}

static int op_link(const char *from, const char *to)
{
    BEFORE("link", to);
    return result_of(linkat(backing, below(from), backing, below(to), 0));
}

static int op_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    BEFORE("chmod", path);
    return result_of(info != NULL ? fchmod((int)info->fh, mode) : fchmodat(backing, below(path), mode, 0));
}

static int op_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *info)
{
    (void)info;
    BEFORE("chown", path);
    return result_of(fchownat(backing, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}

static int op_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    BEFORE("utimens", path);
    return result_of(info != NULL ? futimens((int)info->fh, times)
                                  : utimensat(backing, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int op_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    int descriptor, result;

    BEFORE("truncate", path);
    if (info != NULL)
        return stale(info) ? -ESTALE : result_of(ftruncate((int)info->fh, size));
    descriptor = openat(backing, below(path), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    result = result_of(ftruncate(descriptor, size));
    close(descriptor);
    return result;
}

static int op_statfs(const char *path, struct statvfs *status)
{
    BEFORE("statfs", path);
    return result_of(fstatvfs(backing, status));
}

/* Content */

/* The kernel appends by itself, and reads pages that it writes parts of. */
static int backing_flags(int flags)
{
    flags &= ~(O_APPEND | O_NOFOLLOW);
    return ((flags & O_ACCMODE) == O_WRONLY ? (flags & ~O_ACCMODE) | O_RDWR : flags) | O_CLOEXEC;
}

static int op_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    int descriptor, result;

    BEFORE("create", path);
    descriptor = openat(backing, below(path), backing_flags(info->flags), mode);
    result = made(path, descriptor);
    if (result == 0)
        info->fh = (uint64_t)descriptor;
    else if (descriptor >= 0)
        close(descriptor);
    return result;
}

static int op_open(const char *path, struct fuse_file_info *info)
{
    int descriptor;

    BEFORE("open", path);
    descriptor = openat(backing, below(path), backing_flags(info->flags));
    if (descriptor < 0)
        descriptor = openat(backing, below(path), (info->flags & ~(O_APPEND | O_NOFOLLOW)) | O_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    info->fh = (uint64_t)descriptor;
    info->keep_cache = 0;
    return 0;
}

static int op_read(const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *info)
{
    ssize_t length;

    BEFORE("read", path);
    if (stale(info))
        return -ESTALE;
    length = pread((int)info->fh, buffer, size, offset);
    return length < 0 ? -errno : (int)length;
}

static int op_write(const char *path, const char *buffer, size_t size, off_t offset, struct fuse_file_info *info)
{
    ssize_t length;

    BEFORE("write", path);
    if (stale(info))
        return -ESTALE;
    take_turn(size);
    length = pwrite((int)info->fh, buffer, size, offset);
    return length < 0 ? -errno : (int)length;
}

static int op_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
    (void)data_only;
    BEFORE("fsync", path);
    return stale(info) ? -ESTALE : result_of(fsync((int)info->fh));
}

static int op_fallocate(const char *path, int mode, off_t offset, off_t size, struct fuse_file_info *info)
{
    (void)mode, (void)offset, (void)size, (void)info;
    BEFORE("fallocate", path);
    return -EOPNOTSUPP; /* NFS before version 4.2 */
}

/* Locks */

/* A lock of fcntl() belongs to a process and a file; the backing file's belongs to an open file description. */
struct owned {
    dev_t device;
    ino_t inode;
    uint64_t owner;
    int descriptor;
    struct owned *next;
};

static pthread_mutex_t locks_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct owned *owned_locks;
static char flocked[DESCRIPTORS]; /* descriptors that flock() was called for */
static int kept[DESCRIPTORS];     /* descriptors whose locks a crashed host left */
static int kept_count;

static int fault(const int *value)
{
    int copy;

    pthread_mutex_lock(&faults_mutex);
    copy = *value;
    pthread_mutex_unlock(&faults_mutex);
    return copy;
}

/* Close a descriptor with its locks, or keep both for as long as the host counts as crashed. */
static void close_or_keep(int descriptor, int locked)
{
    if (locked && fault(&faults.crashed) && kept_count < DESCRIPTORS)
        kept[kept_count++] = descriptor;
    else
        close(descriptor);
}

static void release_kept(void)
{
    pthread_mutex_lock(&locks_mutex);
    while (kept_count > 0)
        close(kept[--kept_count]);
    pthread_mutex_unlock(&locks_mutex);
}

static struct owned **find_owned(const struct stat *status, uint64_t owner)
{
    struct owned **place = &owned_locks;

    while (*place != NULL
           && ((*place)->device != status->st_dev || (*place)->inode != status->st_ino || (*place)->owner != owner))
        place = &(*place)->next;
    return place;
}

static int lock_descriptor(struct fuse_file_info *info, int make)
{
    struct stat status;
    struct owned **place, *entry;
    char path[64];
    int descriptor;

    if (fstat((int)info->fh, &status) != 0)
        return -errno;
    pthread_mutex_lock(&locks_mutex);
    place = find_owned(&status, info->lock_owner);
    if (*place != NULL || !make) {
        descriptor = *place != NULL ? (*place)->descriptor : -ENOENT;
    } else {
        snprintf(path, sizeof path, "/proc/self/fd/%d", (int)info->fh);
        descriptor = open(path, O_RDWR | O_CLOEXEC);
        entry = malloc(sizeof *entry);
        if (descriptor < 0 || entry == NULL) {
            descriptor = descriptor < 0 ? -errno : -ENOMEM;
            free(entry);
        } else {
            *entry = (struct owned){status.st_dev, status.st_ino, info->lock_owner, descriptor, owned_locks};
            owned_locks = entry;
        }
    }
    pthread_mutex_unlock(&locks_mutex);
    return descriptor;
}

static void drop_owned(struct fuse_file_info *info)
{
    struct stat status;
    struct owned **place, *entry;

    if (fstat((int)info->fh, &status) != 0)
        return;
    pthread_mutex_lock(&locks_mutex);
    place = find_owned(&status, info->lock_owner);
    entry = *place;
    if (entry != NULL) {
        *place = entry->next;
        close_or_keep(entry->descriptor, 1);
        free(entry);
    }
    pthread_mutex_unlock(&locks_mutex);
}

static int op_lock(const char *path, struct fuse_file_info *info, int command, struct flock *lock)
{
    int descriptor, unlocking = command == F_SETLK && lock->l_type == F_UNLCK;

    BEFORE("lock", path);
    /* A close() unlocks, too, and has to succeed where there are no locks. */
    if (unlocking && (fault(&faults.fcntl_error) != 0 || fault(&faults.crashed)))
        return 0;
    if (fault(&faults.fcntl_error) != 0)
        return -fault(&faults.fcntl_error);
    descriptor = lock_descriptor(info, !unlocking);
    if (descriptor < 0)
        return unlocking && descriptor == -ENOENT ? 0 : descriptor;
    lock->l_pid = 0;
    if (command == F_GETLK)
        return result_of(fcntl(descriptor, F_OFD_GETLK, lock));
    return result_of(fcntl(descriptor, command == F_SETLK ? F_OFD_SETLK : F_OFD_SETLKW, lock));
}

static int op_flock(const char *path, struct fuse_file_info *info, int operation)
{
    BEFORE("flock", path);
    if (fault(&faults.flock_error) != 0)
        return -fault(&faults.flock_error);
    if (info->fh < DESCRIPTORS)
        flocked[info->fh] = 1;
    return result_of(flock((int)info->fh, operation));
}

static int op_flush(const char *path, struct fuse_file_info *info)
{
    int result = before("flush", path);

    drop_owned(info);
    return result;
}

static int op_release(const char *path, struct fuse_file_info *info)
{
    int descriptor = (int)info->fh, locked = 0;

    (void)path;
    drop_owned(info);
    pthread_mutex_lock(&locks_mutex);
    if (descriptor < DESCRIPTORS) {
        locked = flocked[descriptor];
        flocked[descriptor] = 0;
    }
    close_or_keep(descriptor, locked);
    pthread_mutex_unlock(&locks_mutex);
    return 0;
}

/* Life */

static void *control(void *unused)
{
    static char line[2048];
    struct faults next;

    (void)unused;
    puts("set");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%d %d %d %d %d %d %d %d %ld %255s %255s", &next.latency_us, &next.error_permil, &next.error,
                   &next.error_count, &next.stalled, &next.flock_error, &next.fcntl_error, &next.crashed,
                   &next.bandwidth, next.operations, next.path)
            != 11) {
            puts("not understood");
        } else {
            pthread_mutex_lock(&faults_mutex);
            faults = next;
            pthread_mutex_unlock(&faults_mutex);
            if (!next.crashed)
                release_kept();
            puts("set");
        }
        fflush(stdout);
    }
    if (umount2(mount_path, MNT_DETACH) != 0)
        execlp("fusermount3", "fusermount3", "-u", "-z", mount_path, (char *)NULL);
    _exit(0);
}

static void op_interrupted(int number)
{
    (void)number;
}

static void *op_init(struct fuse_conn_info *connection, struct fuse_config *configuration)
{
    pthread_t thread;

    (void)connection;
    configuration->use_ino = 1;
    configuration->intr = 1;
    signal(SIGUSR1, op_interrupted); /* libfuse wakes a call's thread by it */
    configuration->attr_timeout = attributes_s;
    configuration->entry_timeout = names_s;
    configuration->negative_timeout = absences_s;
    if (pthread_create(&thread, NULL, control, NULL) != 0)
        _exit(1);
    return NULL;
}

int main(int count, char **words)
{
    struct fuse_operations operations = {
        .init = op_init, .getattr = op_getattr, .access = op_access, .readlink = op_readlink,
        .readdir = op_readdir, .mknod = op_mknod, .mkdir = op_mkdir, .symlink = op_symlink,
        .unlink = op_unlink, .rmdir = op_rmdir, .rename = op_rename, .link = op_link,
        .chmod = op_chmod, .chown = op_chown, .utimens = op_utimens, .truncate = op_truncate,
        .statfs = op_statfs, .create = op_create, .open = op_open, .read = op_read,
        .write = op_write, .fsync = op_fsync, .fallocate = op_fallocate, .lock = op_lock,
        .flock = op_flock, .flush = op_flush, .release = op_release,
    };
    char *fuse_words[] = {words[0], NULL, "-f", "-o", "fsname=nfslike,subtype=nfslike", "-o",
                          "default_permissions,max_threads=100", "-o", "allow_other", NULL};

    char bucket_path[4096];

    if (count != 7) {
        fprintf(stderr, "usage: nfslike BACKING MOUNTPOINT local|shared ATTRIBUTES NAMES ABSENCES\n");
        return 2;
    }
    backing_path = words[1];
    mount_path = fuse_words[1] = words[2];
    if (strcmp(words[3], "local") == 0) {
        /* Without these calls the kernel grants locks for this mount by itself. */
        operations.lock = NULL;
        operations.flock = NULL;
    }
    attributes_s = atof(words[4]);
    names_s = atof(words[5]);
    absences_s = atof(words[6]);
    backing = open(backing_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(bucket_path, sizeof bucket_path, "%s.bucket", backing_path);
    if (backing < 0 || open_bucket(bucket_path) != 0) {
        perror(backing_path);
        return 1;
    }
    umask(0);
    return fuse_main((int)(sizeof fuse_words / sizeof *fuse_words) - 1, fuse_words, &operations, NULL);
}
