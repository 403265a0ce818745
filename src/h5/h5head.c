/* h5head.c - see h5head.h */
#include "h5/h5head.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define FIRST "penstock profile 1"

void h5head_user(struct h5head *h, const char *user)
{
    if (h5name_user(user))
        (void)snprintf(h->user, sizeof(h->user), "%s", user); /* it has room */
    else
        (void)snprintf(h->user, sizeof(h->user), "%u", h->uid);
}

void h5head_write(const struct h5head *h, struct strbuf *to)
{
    strbuf_addf(to, FIRST "\n%u %s %u %u\n%s\n%s\n", h->name.job_id, h->name.step, h->uid, h->gid,
                h->name.node, h->user);
}

/* The next line into buf.  False: there is none, or it is too long. */
static bool next_line(const char **text, const char *end, char *buf, size_t size)
{
    const char *stop = memchr(*text, '\n', (size_t)(end - *text));
    size_t len;

    if (!stop)
        return false;
    len = (size_t)(stop - *text);
    if (len >= size || memchr(*text, '\0', len))
        return false;
    memcpy(buf, *text, len);
    buf[len] = '\0';
    *text = stop + 1;
    return true;
}

int h5head_read(const char *text, size_t len, struct h5head *ret, size_t *ret_used)
{
    struct h5head h = { 0 };
    const char *at = text, *end = text + len;
    char line[64], path[H5NAME_MAX * 2];
    int used = -1;

    if (!next_line(&at, end, line, sizeof(line)) || strcmp(line, FIRST) != 0 ||
        !next_line(&at, end, line, sizeof(line)) ||
        sscanf(line, "%10u %15s %10u %10u%n", &h.name.job_id, h.name.step, &h.uid, &h.gid, &used) !=
            4 ||
        used < 0 || line[used] || !next_line(&at, end, h.name.node, sizeof(h.name.node)) ||
        !next_line(&at, end, h.user, sizeof(h.user)) || !h5name_user(h.user) ||
        h5name_make(&h.name, path, sizeof(path)) < 0)
        return -EINVAL;
    *ret = h;
    *ret_used = (size_t)(at - text);
    return 0;
}
