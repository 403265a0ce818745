/* jobuser.h - who the user of a job on this node is, for programs that ask for names
 *
 * As the user's own host told with the job (use_client_ids), else as this host's name service has
 * it, which may block. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"

struct job_user {
    const char *name;                 /* without one: the number */
    bool named;                       /* it is a name */
    const char *gecos, *home, *shell; /* "": not known */
    const uint32_t *gids;             /* all groups: those of the launch first of all */
    size_t ngids;
    char *text;      /* what the name service said lies here */
    uint32_t *found; /* groups of the name service */
};

/* Names and lists belong to the record or to ret.  Errors: -ENOMEM, and -E2BIG of groups_of(). */
int jobuser_find(const Pst__JobOnNode *on, struct job_user *ret);
void jobuser_done(struct job_user *u);
