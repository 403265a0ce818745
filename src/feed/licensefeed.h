/* licensefeed.h - licences as text: of slurm.conf, of requests, and what a job holds
 *
 * A request is "a:2,b" (all of it) or "a:2|b" (any one). */
#pragma once

#include "conf/conf.h"
#include "sched/sched.h"

#define LICENSES_MAX 256u /* in one request */

struct license_list {
    struct sched_lic_req *items; /* the caller frees; names point into the text parsed */
    size_t n;
    bool any;
};

/* Tell the scheduler what there is: Licenses= of slurm.conf.  -ENOMEM. */
int licenses_configure(struct sched *s, const char *text);
/* Cuts text up.  False: no request. */
bool licenses_parse(char *text, struct license_list *ret);
/* Names that exist in the list `all` ("a:2,b"), in counts that exist (or, with allow_zero_lic,
 * may exist one day)? */
bool licenses_valid(const struct conf *conf, const char *all, const char *text);
/* "a:2;b:1", without those of count 0; NULL: none.  The caller frees. */
char *licenses_text(const struct sched_lic_req *list, size_t n);
/* What a job gets that is given what it requests, the first of several ways; NULL: none, or no
 * request.  The caller frees. */
char *licenses_granted(const char *request);
