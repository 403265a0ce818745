/* h5name.c - see h5name.h */
#include "h5/h5name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"

#define END ".h5"

static bool is_step(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return (digits && !text[digits]) || strcmp(text, "batch") == 0 ||
           strcmp(text, "interactive") == 0 || strcmp(text, "extern") == 0;
}

static bool is_part(const char *text)
{
    if (!*text || *text == '.' || strlen(text) >= H5NAME_MAX || strchr(text, '/'))
        return false;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return false;
    return true;
}

int h5name_make(const struct h5name *n, char *buf, size_t size)
{
    int len;

    if (!is_step(n->step) || !is_part(n->node))
        return -EINVAL;
    len = snprintf(buf, size, "%u_%s_%s" END, n->job_id, n->step, n->node);
    return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

int h5name_read(const char *name, struct h5name *ret)
{
    struct h5name n = { 0 };
    size_t job = strspn(name, "0123456789"), len = strlen(name), step;
    const char *at = name + job;
    char digits[16];
    uint64_t id;

    if (!job || job >= sizeof(digits) || *at != '_' || len >= sizeof(n.node) || len < sizeof(END) ||
        strcmp(name + len - (sizeof(END) - 1), END) != 0)
        return -EINVAL;
    memcpy(digits, name, job);
    digits[job] = '\0';
    step = strcspn(++at, "_");
    if (parse_u64(digits, 1, UINT32_MAX, &id) < 0 || step >= sizeof(n.step) || at[step] != '_')
        return -EINVAL;
    n.job_id = (uint32_t)id;
    memcpy(n.step, at, step);
    at += step + 1;
    len = (size_t)(name + len - at);
    if (len < sizeof(END))
        return -EINVAL;
    memcpy(n.node, at, len - (sizeof(END) - 1));
    if (!is_step(n.step) || !is_part(n.node))
        return -EINVAL;
    *ret = n;
    return 0;
}

bool h5name_user(const char *user)
{
    return user && is_part(user);
}
