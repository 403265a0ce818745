/* outtail.c - read the end of a batch script's output; see outtail.h
 *
 * Everything happens as the job's user, so the file system says what is allowed.  The name comes
 * from the job's record, which the controller signed: whoever asks has no say in it.  Only a
 * regular file is read; one that does not answer ends this process and nobody else. */
#include "stepd/io/outtail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/shared/outpattern.h"
#include "stepd/shared/asuser.h"
#include "wire/client.h"
#include "wire/errors.h"

#define TAIL_SECONDS 20 /* a file system that takes longer is given up */

static int name_file(const Pst__JobRecord *job, const char *node_name, char **ret_path)
{
    const struct pattern_vars vars = {
        .job_id = job->job_id,
        .array_job_id = job->array_job_id ? job->array_job_id : job->job_id,
        .array_task_id = job->has_array_task_id ? job->array_task_id : PATTERN_NO_ARRAY,
        .step_name = "batch",
        .batch = true,
        .node_name = node_name,
        .restarts = job->restart_count,
        .user = job->user_name,
        .job_name = job->name,
        .sluid = job->sluid,
    };
    const char *pattern = pattern_of_batch(job->std_out, job->has_array_task_id);
    _cleanup_free_ char *name = NULL;
    int r = pattern_expand(strcmp(pattern, "none") == 0 ? "/dev/null" : pattern, &vars, &name);

    if (r < 0)
        return r;
    if (name[0] == '/') {
        *ret_path = TAKE_PTR(name);
        return 0;
    }
    if (!job->work_dir)
        return -EINVAL;
    return asprintf(ret_path, "%s/%s", job->work_dir, name) < 0 ? -ENOMEM : 0;
}

/* The last bytes of fd from `from` on; fewer when the file is cut meanwhile. */
static int read_end(int fd, off_t from, size_t len, ProtobufCBinaryData *ret)
{
    uint8_t *data = malloc(len + 1);
    size_t have = 0;

    if (!data)
        return -ENOMEM;
    while (have < len) {
        ssize_t n = pread(fd, data + have, len - have, from + (off_t)have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int r = -errno;

            free(data);
            return r;
        }
        if (n == 0)
            break;
        have += (size_t)n;
    }
    *ret = (ProtobufCBinaryData){ have, data };
    return 0;
}

/* Negative errno, -ENODATA: it is no regular file. */
static int read_file(const char *path, size_t most, Pst__OutputTail *ret)
{
    /* A FIFO is not waited for, a terminal does not become ours. */
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    size_t len;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ENODATA;
    len = (uint64_t)st.st_size < most ? (size_t)st.st_size : most;
    r = read_end(fd, st.st_size - (off_t)len, len, &ret->data);
    if (r < 0)
        return r;
    ret->has_data = ret->has_size = true;
    ret->size = (uint64_t)st.st_size;
    return 0;
}

int tail_read(const Pst__JobRecord *job, const char *node_name, size_t most, Pst__OutputTail *ret)
{
    int r = name_file(job, node_name, &ret->path);

    if (r == 0)
        r = read_file(ret->path, most < TAIL_MOST ? most : TAIL_MOST, ret);
    if (r == 0)
        return 0;
    ret->trouble = strdup(r == -ENODATA ? "it is not a regular file" : strerror(-r));
    return ret->trouble ? 0 : -ENOMEM;
}

static int send_tail(struct client *c, uint32_t id, const Pst__OutputTail *tail, int r)
{
    Pst__Error e = PST__ERROR__INIT;

    if (r == 0)
        return client_send(c, OP_TAIL_OUTPUT, FRAME_REPLY, id, &tail->base);
    e.has_code = true;
    e.code = SLURM_ERROR;
    e.text = strerror(-r);
    return client_send(c, OP_TAIL_OUTPUT, FRAME_REPLY | FRAME_ERROR, id, &e.base);
}

int tail_serve(const Pst__BcastFile *file, int fd)
{
    Pst__OutputTail tail = PST__OUTPUT_TAIL__INIT;
    struct client *c = NULL;
    int r = client_from_stream(fd, file->tail->stream_key, &c);

    if (r < 0)
        return 1;
    (void)alarm(TAIL_SECONDS); /* ends this process */
    r = become_user(file->uid, file->gid, file->gids, file->n_gids);
    if (r == 0 && (!file->job || !file->tail->node_name))
        r = -EINVAL;
    if (r == 0)
        r = tail_read(file->job, file->tail->node_name, file->tail->most, &tail);
    r = send_tail(c, file->request_id, &tail, r);
    client_free(c);
    free(tail.path);
    free(tail.trouble);
    free(tail.data.data);
    return r < 0;
}
