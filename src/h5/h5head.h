/* h5head.h - how what is kept of a step's samples begins: whose they are
 *
 * slurmd writes it before the first sample, slurmstepd-profile reads it:
 *     penstock profile 1
 *     7 batch 1000 1000
 *     n1
 *     alice
 * Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "h5/h5name.h"

struct h5head {
    struct h5name name; /* job, step, node */
    uint32_t uid, gid;
    char user[H5NAME_MAX]; /* the name of the user's folder */
};

/* A user without a name that a folder may have gets the folder of his number. */
void h5head_user(struct h5head *h, const char *user);
void h5head_write(const struct h5head *h, struct strbuf *to);
/* *ret_used: the bytes of the head.  -EINVAL: the text does not begin with one. */
int h5head_read(const char *text, size_t len, struct h5head *ret, size_t *ret_used);
