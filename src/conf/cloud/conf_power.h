/* conf_power.h - PowerAction lines: named programs of power saving and reboots
 *
 * ResumeProgram, SuspendProgram, ResumeFailProgram and RebootProgram hold a path, or the name of a
 * line; a request of an operator may name one, too.  Pure questions to a loaded configuration. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "conf/conf_keys.h"

#define CONF_POWER_MAX 256u     /* lines */
#define CONF_POWER_NAME_MAX 64u /* bytes of a name, with its end */

struct power_program {
    const char *action; /* the line's name; NULL: the key holds a path */
    bool at_node;       /* slurmd runs it, each for its own node; else slurmctld, with their list */
    const char *path;
    const char *const *args; /* before the list of nodes */
    size_t nargs;
};

/* The program of a request that names `action`, or (NULL, "") what the key holds; texts are the
 * configuration's.  False: there is none of that name, or the key is not set. */
bool conf_power_program(const struct conf *c, enum conf_key key, const char *action,
                        struct power_program *ret);
