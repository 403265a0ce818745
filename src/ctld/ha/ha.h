/* ha.h - several controllers: standing by, taking over, giving up
 *
 * slurmctld calls these around the boot; the service row does the rest.  Nothing of it exists where
 * one controller is configured and none ever took a term (ctld->ha NULL).  Main thread. */
#pragma once

#include <stdbool.h>

#include "ctld/ctld.h"

struct ha_options {
    bool stand_by;      /* do not ask for control, and do not claim it as the first in the list */
    char *const *again; /* the command line of a process that stands by in place of this one */
};

/* Find out which controller this is and whether terms are needed.  Before the services start. */
int ha_begin(struct ctld *ctld, const struct ha_options *options, struct err *err);
/* The boot is over: tell who asked, the site's program and the triggers. */
void ha_leads(struct ctld *ctld);
/* Did it give up control for another? */
bool ha_gave_up(const struct ctld *ctld);
