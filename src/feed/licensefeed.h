/* licensefeed.h - licences as text: of slurm.conf, of requests, and what a job holds
 *
 * A request is "a:2,b" (all of it) or "a:2|b" (any one).  A resource with layers is
 * asked for like a licence, by a count or by one of its variables: "watts:train".  A layer,
 * "port(n[01-12]):30", is named by reservations, and by what a job holds. */
#pragma once

#include "conf/conf.h"
#include "conf/layers/resources.h"
#include "sched/sched.h"

#define LICENSES_MAX 256u /* in one request */

struct license_list {
    struct sched_lic_req *items; /* the caller frees; names point into the text parsed */
    size_t n;
    bool any;
};

/* What requests are compared with. */
struct license_world {
    const struct conf *conf;
    const char *all; /* licences without layers: "a:2,b" */
    const struct resources *resources;
};

/* Tell the scheduler what there is: Licenses= of slurm.conf.  -ENOMEM. */
int licenses_configure(struct sched *s, const char *text);
/* Cut text into its items.  False: the text is no request, and there is nothing to free. */
bool licenses_parse(char *text, struct license_list *ret);
/* Are all names of the text known, and are there as many of each as it asks for?  With
 * allow_zero_lic the counts do not matter.  A request names one resource of mode 3 at most. */
bool licenses_valid(const struct license_world *w, const char *text);
/* The same of a reservation, which may name layers. */
bool licenses_valid_resv(const struct license_world *w, const char *text);
/* How much the text asks for of a licence or resource; 0: nothing, or no request. */
uint64_t licenses_asked(const struct resources *r, const char *text, const char *name);
/* What a decision says that the job holds: "a:2;port(n[01-12]):30" as users are shown (any: parted
 * by '|'), and all layers that are charged.  Each NULL when there is nothing to say; the caller
 * frees both. */
void licenses_texts(const struct sched_lic_req *list, size_t n, bool any, char **ret_alloc,
                    char **ret_layers);
