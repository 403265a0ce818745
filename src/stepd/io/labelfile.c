/* labelfile.c - a task's lines with its number before them; see labelfile.h. */
#include "stepd/io/labelfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LABEL_ROOM 16u /* "4294967295: " */

struct labelfile {
    int fd, failed;
    size_t label, len; /* of the label; of label and line so far */
    bool cut; /* the last piece ended for its length: an end of line right behind it is its own */
    char line[LABEL_ROOM + LABELFILE_PIECE + 1];
};

struct labelfile *labelfile_new(int fd, uint32_t rank, uint32_t tasks)
{
    struct labelfile *f = calloc(1, sizeof(*f));
    int width = snprintf(NULL, 0, "%u", tasks ? tasks - 1 : 0);

    if (!f) {
        (void)close(fd);
        return NULL;
    }
    f->fd = fd;
    f->label = (size_t)snprintf(f->line, sizeof(f->line), "%*u: ", width, rank);
    f->len = f->label;
    return f;
}

/* The line goes out in one write: tasks of a node may share the file. */
static void put_line(struct labelfile *f)
{
    size_t done = 0;

    f->line[f->len++] = '\n';
    while (done < f->len && !f->failed) {
        ssize_t n = write(f->fd, f->line + done, f->len - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            f->failed = -errno;
    }
    f->len = f->label;
}

int labelfile_put(struct labelfile *f, const char *data, size_t n)
{
    while (n > 0 && !f->failed) {
        size_t room = f->label + LABELFILE_PIECE - f->len, part = MIN(n, room);
        const char *eol = memchr(data, '\n', part);
        bool cut = f->cut;

        part = eol ? (size_t)(eol - data) : part;
        memcpy(f->line + f->len, data, part);
        f->len += part;
        data += part + (eol != NULL);
        n -= part + (eol != NULL);
        f->cut = !eol && part == room;
        if (f->cut || (eol && !(cut && part == 0)))
            put_line(f);
    }
    return f->failed;
}

int labelfile_end(struct labelfile *f)
{
    if (f && !f->failed && f->len > f->label)
        put_line(f);
    return f ? f->failed : 0;
}

struct labelfile *labelfile_free(struct labelfile *f)
{
    if (!f)
        return NULL;
    (void)close(f->fd); /* what could not be written was told */
    free(f);
    return NULL;
}
