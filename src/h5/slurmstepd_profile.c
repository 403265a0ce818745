/* slurmstepd_profile.c - slurmstepd-profile: the samples of a step that is over become its file
 *
 * usage: slurmstepd-profile ProfileHDF5Dir <>SAMPLES
 *
 * slurmd starts it when a step is over, with what it kept of the step's samples as standard input
 * (h5/h5head.h, then lines).  It makes the user's folder, becomes the user, and writes one file.
 * What is written is emptied.  With nothing on standard input it only looks whether it could: is
 * there a library, and a folder?  A failure is one sentence on stderr and exit status 1.  Nobody
 * waits for it: a file system that does not answer holds up this process alone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "h5/h5head.h"
#include "h5/h5image.h"
#include "h5/h5place.h"

#define CHUNK (256u << 10) /* bytes; a line is shorter */

struct input {
    char buf[CHUNK];
    size_t len;
};

/* More of standard input behind what there is.  *ret_end: nothing more comes. */
static int read_more(struct input *in, bool *ret_end, struct err *err)
{
    ssize_t n;

    do
        n = read(STDIN_FILENO, in->buf + in->len, sizeof(in->buf) - in->len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(err, -errno, "the samples cannot be read: %s", strerror(errno));
    in->len += (size_t)n;
    *ret_end = n == 0;
    return 0;
}

static void drop_input(struct input *in, size_t used)
{
    in->len -= used;
    memmove(in->buf, in->buf + used, in->len);
}

static int read_samples(struct input *in, struct h5_samples *to, struct err *err)
{
    bool end = false;
    int r = 0;

    while (r == 0 && !end) {
        const char *last = memrchr(in->buf, '\n', in->len);
        size_t whole = last ? (size_t)(last + 1 - in->buf) : 0;

        r = h5samples_add(to, in->buf, whole);
        if (r < 0)
            return err_nomem(err);
        drop_input(in, whole || in->len < sizeof(in->buf) ? whole : in->len);
        r = read_more(in, &end, err);
    }
    return r < 0 ? r : h5samples_end(to) < 0 ? err_nomem(err) : 0;
}

static int make_image(struct input *in, const struct h5_api *api, const struct h5head *head,
                      void **ret_image, size_t *ret_len, struct err *err)
{
    struct h5_samples samples = { 0 };
    int r = read_samples(in, &samples, err);

    if (r == 0)
        r = h5image_make(api, &head->name, &samples, ret_image, ret_len, err);
    h5samples_done(&samples);
    return r;
}

static int write_file(struct input *in, const struct h5_api *api, int root_fd, struct err *err)
{
    _cleanup_close_ int fd = -1;
    _cleanup_free_ void *image = NULL;
    char name[2 * H5NAME_MAX];
    struct h5head head;
    size_t used, len;
    int r;

    if (h5head_read(in->buf, in->len, &head, &used) < 0 ||
        h5name_make(&head.name, name, sizeof(name)) < 0)
        return err_set(err, -EINVAL, "what was kept of the samples does not say whose they are");
    drop_input(in, used);
    r = h5place_user(root_fd, &head, &fd, err);
    if (r == 0)
        r = h5place_become(&head, err);
    if (r == 0)
        r = make_image(in, api, &head, &image, &len, err);
    return r < 0 ? r : h5place_put(fd, name, image, len, err);
}

static int run_writer(struct input *in, const char *dir, struct err *err)
{
    _cleanup_close_ int root_fd = -1;
    struct h5_api api;
    bool end = false;
    int r = h5_api_load(&api, "AcctGatherProfileType=acct_gather_profile/hdf5", err);

    if (r == 0)
        r = h5place_root(dir, &root_fd, err);
    if (r == 0)
        r = read_more(in, &end, err);
    if (r < 0 || end)
        return r;
    r = write_file(in, &api, root_fd, err);
    if (r == 0 && ftruncate(STDIN_FILENO, 0) < 0)
        r = 0; /* it is a pipe: nobody could write it twice */
    return r;
}

int main(int argc, char **argv)
{
    _cleanup_free_ struct input *in = calloc(1, sizeof(*in));
    struct err err = { .text = "" };

    if (argc != 2) {
        (void)fprintf(stderr, "usage: slurmstepd-profile ProfileHDF5Dir\n");
        return 2;
    }
    if ((in ? run_writer(in, argv[1], &err) : err_nomem(&err)) == 0)
        return 0;
    (void)fprintf(stderr, "%s\n", err.text);
    return 1;
}
