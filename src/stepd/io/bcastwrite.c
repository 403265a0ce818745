/* bcastwrite.c - write the files that sbcast sends; see bcastwrite.h
 *
 * Everything happens as the user, so the file system says what is allowed.  The data goes to a
 * hidden file beside the target, which takes its name only when the last block is there: a transfer
 * that fails leaves nothing, and with --force the old file stays whole until then.  Each block is
 * answered when it is written, which is the sender's back-pressure. */
#include "stepd/io/bcastwrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/shared/asuser.h"
#include "wire/client.h"
#include "wire/lz4.h"

#define BCAST_RAW_MAX (8u << 20) /* of a block: what senders are held to */
#define BLOCK_WAIT_MS 600000     /* a sender that is silent for longer is gone */

struct bcast {
    const Pst__BcastOpen *open;
    const char *node;
    struct client *client;
    char *path; /* of the file that is written */
    char *temp; /* NULL: not made */
    int fd;
    bool placed;
};

/* Where the file goes; the folder of libraries is made when the first one comes. */
static int name_file(struct bcast *b)
{
    const Pst__BcastOpen *o = b->open;
    _cleanup_free_ char *program = NULL;
    bool suffix = o->has_node_suffix && o->node_suffix;
    int r;

    if (!o->path || o->path[0] != '/' || (o->library && (!*o->library || strchr(o->library, '/'))))
        return -EINVAL;
    if (asprintf(&program, "%s%s%s%s", o->path, suffix ? "_" : "", suffix ? b->node : "",
                 o->library ? "_libs" : "") < 0) {
        program = NULL;
        return -ENOMEM;
    }
    if (!o->library) {
        b->path = TAKE_PTR(program);
        return 0;
    }
    if (mkdir(program, 0755) < 0 && errno != EEXIST)
        return -errno;
    r = asprintf(&b->path, "%s/%s", program, o->library);
    if (r < 0)
        b->path = NULL;
    return r < 0 ? -ENOMEM : 0;
}

static int open_temp(struct bcast *b)
{
    const char *path = b->path, *slash = strrchr(path, '/');
    struct stat st;

    if (!(b->open->has_force && b->open->force) && lstat(path, &st) == 0)
        return -EEXIST;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return -EISDIR;
    /* a part of the name will do: all of it with ours might be too long for the file system */
    if (asprintf(&b->temp, "%.*s/.sbcast-%d-%.200s", (int)(slash - path), path, (int)getpid(),
                 slash + 1) < 0) {
        b->temp = NULL;
        return -ENOMEM;
    }
    b->fd = open(b->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (b->fd < 0) {
        int r = -errno;

        free(b->temp);
        b->temp = NULL;
        return r;
    }
    return 0;
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* What a block holds, as it was before it was compressed. */
static int write_block(struct bcast *b, const Pst__BcastBlock *block)
{
    _cleanup_free_ uint8_t *raw = NULL;
    int r;

    if (!block->has_raw_size)
        return write_all(b->fd, block->data.data, block->data.len);
    if (block->raw_size > BCAST_RAW_MAX)
        return -EMSGSIZE;
    raw = malloc(block->raw_size + 1);
    if (!raw)
        return -ENOMEM;
    r = lz4_unpack(block->data.data, block->data.len, raw, block->raw_size);
    return r < 0 ? r : write_all(b->fd, raw, block->raw_size);
}

/* Before 1970 the part of a second counts forward all the same. */
static struct timespec time_of(int64_t us)
{
    int64_t part = us % USEC_PER_SEC, second = us / USEC_PER_SEC;

    if (part < 0) {
        part += USEC_PER_SEC;
        second--;
    }
    return (struct timespec){ second, part * 1000 };
}

static int place_file(struct bcast *b)
{
    const Pst__BcastOpen *o = b->open;
    int r = 0;

    if (fchmod(b->fd, o->mode & 07777) < 0)
        return -errno;
    if (o->has_preserve && o->preserve) {
        struct timespec times[2] = { time_of(o->atime_us), time_of(o->mtime_us) };

        if (futimens(b->fd, times) < 0)
            return -errno;
    }
    r = close(b->fd);
    b->fd = -1;
    if (r < 0)
        return -errno;
    if (o->has_force && o->force) {
        if (rename(b->temp, b->path) < 0)
            return -errno;
        b->placed = true;
        return 0;
    }
    return link(b->temp, b->path) < 0 ? -errno : 0; /* the hidden name goes in any case */
}

static int answer_block(struct bcast *b, unsigned op, uint32_t id, int r)
{
    Pst__Error e = PST__ERROR__INIT;

    if (r == 0)
        return client_send(b->client, op, FRAME_REPLY, id, NULL);
    e.has_code = true;
    e.code = -r;
    e.text = strerror(-r);
    return client_send(b->client, op, FRAME_REPLY | FRAME_ERROR, id, &e.base);
}

/* 1 more to come, 0 done, negative: over. */
static int one_block(struct bcast *b)
{
    struct frame f;
    Pst__BcastBlock *block;
    bool last;
    int r = client_recv(b->client, BLOCK_WAIT_MS, &f);

    if (r <= 0)
        return r < 0 ? r : -ETIMEDOUT;
    r = FRAME_UNPACK(bcast_block, &f, &block, NULL);
    if (r < 0)
        return r;
    last = block->has_last && block->last;
    r = write_block(b, block);
    if (r == 0 && last)
        r = place_file(b);
    pst__bcast_block__free_unpacked(block, NULL);
    (void)answer_block(b, OP_BCAST_BLOCK, f.id,
                       r); /* a sender that left is seen at the next block */
    return r < 0 ? r : !last;
}

/* One file, from its request on.  0 written, negative: over. */
static int one_file(struct bcast *b, const Pst__BcastOpen *open, uint32_t id)
{
    int r;

    b->open = open;
    b->placed = false;
    r = open->has_lz4 && open->lz4 ? lz4_available() : 0;
    if (r == 0)
        r = name_file(b);
    if (r == 0)
        r = open_temp(b);
    if (answer_block(b, OP_BCAST_OPEN, id, r) < 0 && r == 0)
        r = -EPIPE;
    if (r == 0)
        while ((r = one_block(b)) > 0)
            ;
    if (b->temp && !b->placed)
        (void)unlink(b->temp); /* nothing more can be done about it */
    if (b->fd >= 0)
        (void)close(b->fd);
    b->fd = -1;
    free(TAKE_PTR(b->temp));
    free(TAKE_PTR(b->path));
    return r;
}

/* The sender may have more for us.  1 with the request, which is the caller's to free; 0 no
 * more; negative: over. */
static int next_file(struct bcast *b, Pst__BcastOpen **ret_open, uint32_t *ret_id)
{
    struct frame f;
    int r = client_recv(b->client, BLOCK_WAIT_MS, &f);

    if (r <= 0)
        return 0;
    r = FRAME_UNPACK(bcast_open, &f, ret_open, NULL);
    if (r < 0)
        return r;
    *ret_id = f.id;
    return 1;
}

/* Wait until the sender has closed its end: it already knows the result. */
static void end_connection(struct client *c)
{
    struct frame f;

    while (client_recv(c, BLOCK_WAIT_MS, &f) > 0)
        ;
}

int bcast_serve(const Pst__BcastFile *file, int fd)
{
    struct bcast b = { .fd = -1 };
    Pst__BcastOpen *more = NULL;
    uint32_t id = 0;
    ProtobufCBinaryData plain = { 0 };
    int r = client_from_stream(fd, file->open ? file->open->stream_key : plain, &b.client);

    if (r < 0)
        return 1;
    r = become_user(file->uid, file->gid, file->gids, file->n_gids);
    if (r == 0 && (!file->open || !file->open->node_name))
        r = -EINVAL;
    (void)umask(0);
    if (r < 0)
        (void)answer_block(&b, OP_BCAST_OPEN, file->request_id, r); /* gone: it knows */
    else
        b.node = file->open->node_name;
    if (r == 0)
        r = one_file(&b, file->open, file->request_id);
    while (r == 0 && (r = next_file(&b, &more, &id)) > 0) {
        r = one_file(&b, more, id);
        pst__bcast_open__free_unpacked(more, NULL);
    }
    if (r < 0) /* closing with unread bytes resets the connection, and the answer would be lost */
        end_connection(b.client);
    client_free(b.client);
    return r < 0;
}
