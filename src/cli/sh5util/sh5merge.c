/* sh5merge.c - see sh5merge.h
 *
 * The library opens files by their names in /proc/self/fd: they were opened before, below the
 * folder's descriptor, and no symbolic link was followed. */
#include "cli/sh5util/sh5merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "h5/h5image.h"
#include "h5/h5name.h"

#define FD_PATH_SIZE 40u

static int add_name(struct sh5files *f, const char *name)
{
    char **more = reallocarray(f->names, f->n + 1, sizeof(*more));

    if (!more)
        return -ENOMEM;
    f->names = more;
    f->names[f->n] = strdup(name);
    return f->names[f->n] ? (f->n++, 0) : -ENOMEM;
}

int sh5files_find(int dir_fd, const struct sh5ids *ids, struct sh5files *ret)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct sh5files found = { 0 };
    const struct dirent *e;
    struct h5name n;

    if (!dir) {
        r = -errno;
        if (fd >= 0)
            (void)close(fd);
        return r;
    }
    while (r == 0 && (errno = 0, e = readdir(dir)))
        if (h5name_read(e->d_name, &n) == 0 && n.job_id == ids->job_id && sh5ids_has(ids, n.step))
            r = add_name(&found, e->d_name);
    if (r == 0)
        r = -errno;
    (void)closedir(dir);
    if (r < 0) {
        sh5files_done(&found);
        return r;
    }
    if (found.n)
        qsort(found.names, found.n, sizeof(*found.names), order_text);
    *ret = found;
    return 0;
}

void sh5files_done(struct sh5files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->names[i]);
    free(f->names);
    *f = (struct sh5files){ 0 };
}

static void path_of_fd(int fd, char *buf)
{
    (void)snprintf(buf, FD_PATH_SIZE, "/proc/self/fd/%d", fd);
}

/* The group of the step's nodes in the job's file. */
static h5_id open_nodes(const struct h5_api *api, h5_id out, const char *step)
{
    const char *const words[] = { H5_STEPS, step, H5_NODES };
    h5_id at = out;

    for (size_t i = 0; i < ARRAY_SIZE(words) && at >= 0; i++) {
        h5_id next = h5image_group(api, at, words[i]);

        if (at != out)
            (void)api->g_close(at);
        at = next;
    }
    return at;
}

static bool copy_node(const struct h5_api *api, h5_id in, const struct h5name *n, h5_id out)
{
    char path[sizeof(n->step) + H5NAME_MAX + 24];
    h5_id nodes = open_nodes(api, out, n->step);
    bool fine;

    (void)snprintf(path, sizeof(path), "/" H5_STEPS "/%s/" H5_NODES "/%s", n->step, n->node);
    fine = nodes >= 0 && api->o_copy(in, path, nodes, n->node, H5_DEFAULT, H5_DEFAULT) >= 0;
    if (nodes >= 0)
        (void)api->g_close(nodes);
    return fine;
}

static int merge_one(const struct h5_api *api, int dir_fd, const char *name, h5_id out,
                     struct err *err)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char path[FD_PATH_SIZE];
    struct h5name n;
    struct stat st;
    bool fine;
    h5_id in;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, -errno, "%s: %s", name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "%s is no file", name);
    path_of_fd(fd, path);
    in = api->f_open(path, H5_READ, H5_DEFAULT);
    fine = in >= 0 && h5name_read(name, &n) == 0 && copy_node(api, in, &n, out);
    if (in >= 0)
        (void)api->f_close(in);
    return fine ? 0
                : err_set(err, -EIO, "%s is no profile of its step, or could not be copied", name);
}

int sh5merge(const struct h5_api *api, int dir_fd, const struct sh5files *files, int out_fd,
             struct err *err)
{
    char path[FD_PATH_SIZE];
    h5_id out;
    int r = 0;

    path_of_fd(out_fd, path);
    out = api->f_create(path, H5_TRUNCATE, H5_DEFAULT, H5_DEFAULT);
    if (out < 0)
        return err_set(err, -EIO, "libhdf5 did not begin the file");
    for (size_t i = 0; r == 0 && i < files->n; i++)
        r = merge_one(api, dir_fd, files->names[i], out, err);
    if (r == 0 && api->f_flush(out, H5_GLOBAL) < 0)
        r = err_set(err, -EIO, "the file could not be written whole");
    if (api->f_close(out) < 0 && r == 0)
        r = err_set(err, -EIO, "the file could not be written whole");
    return r;
}
