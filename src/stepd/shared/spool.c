/* spool.c - see spool.h
 *
 * Owns the names and the layout of the spool directory; keeps no state.  Called by slurmd's main
 * thread and by the step daemons, each for its own step, so no two writers share a file. */
#include "stepd/shared/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/rmtree.h"

const char *step_id_name(uint32_t step_id, char *buf, size_t size)
{
    switch (step_id) {
    case STEP_ID_BATCH:
        return "batch";
    case STEP_ID_EXTERN:
        return "extern";
    case STEP_ID_INTERACTIVE:
        return "interactive";
    default:
        (void)snprintf(buf, size, "%u", step_id);
        return buf;
    }
}

void spool_job_dir(const char *spool, uint32_t job_id, uint64_t run_id, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s/job%u.%llu", spool, job_id, (unsigned long long)run_id);
}

static void step_dir_name(uint32_t step_id, char *buf, size_t size)
{
    char num[16];
    const char *name = step_id_name(step_id, num, sizeof(num));

    (void)snprintf(buf, size, "%s%s", name == num ? "step" : "", name);
}

void spool_step_dir(const char *spool, uint32_t job_id, uint64_t run_id, uint32_t step_id,
                    char *buf, size_t size)
{
    char name[24];

    step_dir_name(step_id, name, sizeof(name));
    (void)snprintf(buf, size, "%s/job%u.%llu/%s", spool, job_id, (unsigned long long)run_id, name);
}

/* The user's shell must be able to reach its script through these, and read no other name. */
static int make_dir(const char *path)
{
    if (mkdir(path, 0711) < 0)
        return -errno;
    return 0;
}

int spool_make_job(const char *spool, uint32_t job_id, uint64_t run_id)
{
    char path[SPOOL_PATH_MAX];
    int r;

    spool_job_dir(spool, job_id, run_id, path, sizeof(path));
    r = make_dir(path);
    return r == -EEXIST ? 0 : r;
}

int spool_make_step(const char *spool, uint32_t job_id, uint64_t run_id, uint32_t step_id)
{
    char path[SPOOL_PATH_MAX];
    int r;

    spool_step_dir(spool, job_id, run_id, step_id, path, sizeof(path));
    r = make_dir(path);
    if (r != -ENOENT)
        return r;
    r = spool_make_job(spool, job_id, run_id);
    return r < 0 ? r : make_dir(path);
}

/* ---- the name of a script -------------------------------------------------------------------- */

#define SCRIPT_NAME "slurm_script"

static void script_link(const char *spool, uint32_t job_id, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s/job%05u", spool, job_id);
}

/* What the link of a run says: a path from the spool's folder. */
static void link_target(uint32_t job_id, uint64_t run_id, char *buf, size_t size)
{
    spool_step_dir(".", job_id, run_id, STEP_ID_BATCH, buf, size);
}

static bool link_says(const char *path, const char *target)
{
    char text[128];
    ssize_t n = readlink(path, text, sizeof(text));

    return n > 0 && (size_t)n == strlen(target) && memcmp(text, target, (size_t)n) == 0;
}

int spool_link_script(const char *spool, uint32_t job_id, uint64_t run_id)
{
    char path[SPOOL_PATH_MAX], target[64];

    script_link(spool, job_id, path, sizeof(path));
    link_target(job_id, run_id, target, sizeof(target));
    if (unlink(path) < 0 && errno != ENOENT) /* an earlier run's */
        return -errno;
    return symlink(target, path) < 0 ? -errno : 0;
}

static void unlink_script(const char *spool, uint32_t job_id, uint64_t run_id)
{
    char path[SPOOL_PATH_MAX], target[64];

    script_link(spool, job_id, path, sizeof(path));
    link_target(job_id, run_id, target, sizeof(target));
    if (link_says(path, target))
        (void)unlink(path); /* what stays leads nowhere, and the next run of the job replaces it */
}

void spool_script(const char *step_dir, uint32_t job_id, char *buf, size_t size)
{
    char spool[SPOOL_PATH_MAX], path[SPOOL_PATH_MAX], target[SPOOL_PATH_MAX];
    size_t len = strlen(step_dir);

    (void)snprintf(buf, size, "%s/" SCRIPT_NAME, step_dir);
    for (int names = 0; names < 2; names++) /* SPOOL/job73.73/batch: two names after the spool's */
        while (len > 0 && step_dir[--len] != '/')
            ;
    (void)snprintf(spool, sizeof(spool), "%.*s", (int)len, step_dir);
    (void)snprintf(target, sizeof(target), ".%s", step_dir + len);
    script_link(spool, job_id, path, sizeof(path));
    if (link_says(path, target))
        (void)snprintf(buf, size, "%s/" SCRIPT_NAME, path);
}

static int write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len > 0) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int write_path(const char *path, const void *data, size_t len, mode_t mode, uid_t uid,
                      gid_t gid)
{
    _cleanup_close_ int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    int r;

    if (fd < 0)
        return -errno;
    r = write_all(fd, data, len);
    if (r == 0 && uid != (uid_t)-1 && (uid != geteuid() || gid != getegid()) && geteuid() == 0 &&
        fchown(fd, uid, gid) < 0)
        r = -errno;
    if (r < 0)
        (void)unlink(path); /* the error that matters is r */
    return r;
}

int spool_write(const char *dir, const char *name, const void *data, size_t len, mode_t mode,
                uid_t uid, gid_t gid)
{
    char path[SPOOL_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return write_path(path, data, len, mode, uid, gid);
}

int spool_put_msg(const char *dir, const char *name, const ProtobufCMessage *msg)
{
    char path[SPOOL_PATH_MAX], tmp[SPOOL_PATH_MAX];
    size_t len = protobuf_c_message_get_packed_size(msg);
    _cleanup_free_ uint8_t *data = malloc(len ? len : 1);
    int r;

    if (!data)
        return -ENOMEM;
    protobuf_c_message_pack(msg, data);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    (void)snprintf(tmp, sizeof(tmp), "%s/.%s", dir, name);
    r = write_path(tmp, data, len, 0600, (uid_t)-1, (gid_t)-1);
    if (r < 0)
        return r;
    if (rename(tmp, path) < 0) {
        r = -errno;
        (void)unlink(tmp);
        return r;
    }
    return 0;
}

int spool_memfd(const ProtobufCMessage *msg, int min_fd, int *ret_fd)
{
    size_t len = protobuf_c_message_get_packed_size(msg), at = 0;
    _cleanup_free_ uint8_t *data = malloc(len ? len : 1);
    _cleanup_close_ int fd = -1;
    int high;

    if (!data)
        return -ENOMEM;
    if (len > SPOOL_MAX_FILE)
        return -EFBIG;
    (void)protobuf_c_message_pack(msg, data);
    fd = memfd_create("message", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    while (at < len) {
        ssize_t n = pwrite(fd, data + at, len - at, (off_t)at);

        if (n < 0)
            return -errno;
        at += (size_t)n;
    }
    high = fcntl(fd, F_DUPFD_CLOEXEC, min_fd);
    if (high < 0)
        return -errno;
    *ret_fd = high;
    return 0;
}

int spool_get_msg(const char *dir, const char *name, const ProtobufCMessageDescriptor *desc,
                  ProtobufCMessage **ret_msg)
{
    char path[SPOOL_PATH_MAX];
    _cleanup_close_ int fd = -1;
    _cleanup_free_ uint8_t *data = NULL;
    struct stat st;
    size_t len = 0;
    ProtobufCMessage *msg;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size > (off_t)SPOOL_MAX_FILE)
        return -EFBIG;
    data = malloc((size_t)st.st_size + 1);
    if (!data)
        return -ENOMEM;
    while (len < (size_t)st.st_size) {
        ssize_t n = read(fd, data + len, (size_t)st.st_size - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    msg = protobuf_c_message_unpack(desc, NULL, len, data);
    if (!msg)
        return -EBADMSG;
    *ret_msg = msg;
    return 0;
}

bool spool_has(const char *dir, const char *name)
{
    char path[SPOOL_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* ---- removing -------------------------------------------------------------------------------- */

#define STEP_DEPTH 3 /* of folders in a step's: oci/task-0 */
#define REMOVED_MOST 512u
#define DEAD ".removed-" /* names of folders that rm is busy with */
#define DEAD_TRIES 64u

/* Remove what folder `name` of parent holds, then it.  Some of it is a user's (containers, PMIx):
 * no link is followed, and of a user who leaves more than we ever make something stays.  *left: so
 * many names more may go. */
static int remove_tree(int parent, const char *name, int depth, unsigned *left)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;

    if (!d) {
        int r = -errno;

        if (fd >= 0)
            (void)close(fd);
        return r == -ENOENT ? 0 : r;
    }
    while (*left && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        (*left)--;
        if (unlinkat(fd, e->d_name, 0) < 0 && depth > 0)
            (void)remove_tree(fd, e->d_name, depth - 1, left); /* rmdir tells what stayed */
    }
    (void)closedir(d);
    if (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return -errno;
    return 0;
}

/* Out of the way, and rm(1) removes it: slurmd does not wait for however much a user left. */
static int move_away(const char *spool, const char *path, uint32_t job_id)
{
    char dead[SPOOL_PATH_MAX];

    for (unsigned i = 0; i < DEAD_TRIES; i++) {
        (void)snprintf(dead, sizeof(dead), "%s/" DEAD "job%u.%u", spool, job_id, i);
        if (rename(path, dead) == 0)
            return rmtree_start(dead);
        if (errno != ENOTEMPTY && errno != EEXIST)
            return errno == ENOENT ? 0 : -errno;
    }
    return -EEXIST;
}

static int remove_folder(const char *spool, const char *path, uint32_t job_id, int depth)
{
    unsigned left = REMOVED_MOST;
    int r = remove_tree(AT_FDCWD, path, depth, &left);

    return r == 0 ? 0 : move_away(spool, path, job_id);
}

int spool_remove_step(const char *spool, uint32_t job_id, uint64_t run_id, uint32_t step_id)
{
    char path[SPOOL_PATH_MAX];

    if (step_id == STEP_ID_BATCH)
        unlink_script(spool, job_id, run_id);
    spool_step_dir(spool, job_id, run_id, step_id, path, sizeof(path));
    return remove_folder(spool, path, job_id, STEP_DEPTH);
}

int spool_remove_job(const char *spool, uint32_t job_id, uint64_t run_id)
{
    char path[SPOOL_PATH_MAX];

    unlink_script(spool, job_id, run_id);
    spool_job_dir(spool, job_id, run_id, path, sizeof(path));
    return remove_folder(spool, path, job_id, STEP_DEPTH + 1);
}

void spool_remove_dead(const char *spool)
{
    char path[SPOOL_PATH_MAX];
    DIR *d = opendir(spool);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        if (strncmp(e->d_name, DEAD, strlen(DEAD)) != 0)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
        (void)rmtree_start(path); /* else at the next start */
    }
    if (d)
        (void)closedir(d);
}

static bool parse_job_name(const char *name, uint32_t *ret_job, uint64_t *ret_run)
{
    unsigned long long run;
    unsigned job;
    int end = 0;

    if (sscanf(name, "job%10u.%20llu%n", &job, &run, &end) != 2 || name[end])
        return false;
    *ret_job = job;
    *ret_run = run;
    return true;
}

static bool parse_step_name(const char *name, uint32_t *ret_step)
{
    static const uint32_t special[] = { STEP_ID_BATCH, STEP_ID_EXTERN, STEP_ID_INTERACTIVE };
    char buf[16];
    unsigned step;
    int end = 0;

    for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
        if (strcmp(name, step_id_name(special[i], buf, sizeof(buf))) == 0) {
            *ret_step = special[i];
            return true;
        }
    }
    if (sscanf(name, "step%10u%n", &step, &end) != 1 || name[end])
        return false;
    *ret_step = step;
    return true;
}

static int scan_job(const char *spool, uint32_t job_id, uint64_t run_id, spool_scan_fn *fn,
                    void *ctx)
{
    char path[SPOOL_PATH_MAX];
    DIR *d;
    struct dirent *e;
    int r = fn(ctx, job_id, run_id, NULL);

    if (r < 0)
        return r;
    spool_job_dir(spool, job_id, run_id, path, sizeof(path));
    d = opendir(path);
    if (!d)
        return 0; /* fn may have removed it */
    while (r >= 0 && (e = readdir(d))) {
        uint32_t step_id;

        if (parse_step_name(e->d_name, &step_id))
            r = fn(ctx, job_id, run_id, &step_id);
    }
    (void)closedir(d);
    return r < 0 ? r : 0;
}

int spool_scan(const char *spool, spool_scan_fn *fn, void *ctx)
{
    DIR *d = opendir(spool);
    struct dirent *e;
    size_t n = 0;
    int r = 0;

    if (!d)
        return -errno;
    while (r == 0 && n < SPOOL_MAX_JOBS && (e = readdir(d))) {
        uint32_t job_id;
        uint64_t run_id;

        if (!parse_job_name(e->d_name, &job_id, &run_id))
            continue;
        n++;
        r = scan_job(spool, job_id, run_id, fn, ctx);
    }
    (void)closedir(d);
    return r;
}
