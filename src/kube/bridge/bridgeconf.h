/* bridgeconf.h - the bridge's configuration file, YAML
 *
 * | key | |
 * | schedulerName | of the pods; slurm-bridge-scheduler |
 * | slurmRestApi | http://HOST:PORT of slurmrestd |
 * | name | of this bridge, where slurmctld has several |
 * | partition, mcsLabel | of the jobs |
 * | priorityClasses | QOS and partition of pods by their priorityClassName |
 * | managedNamespaces | whose pods get our schedulerName, by penstock-webhook |
 * | managedNamespaceSelector | labels of such namespaces, instead of their names |
 * | waitSeconds | a job that has its nodes waits no longer for Kubernetes; 600 |
 * | managedNodeTaint | nodes that Slurm has, too, get the taint of our schedulerName (false) |
 * | identityNamespaces | whose annotations user-id and group-id are believed |
 * | identities | what namespaces and service accounts are in Slurm: podidentity.h |
 *
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bridgeconf {
    char *scheduler, *rest, *partition, *mcs; /* the last two NULL: none */
    char *name;                               /* "" without the key */
    json_t *namespaces, *identities;          /* arrays of names */
    json_t *selector;                         /* LabelSelector of namespaces; NULL: none */
    json_t *classes;                          /* array: name, qos, partition of priority classes */
    json_t *rules;                            /* podidentity_read() */
    int64_t wait_s;                           /* 0 without the key */
    bool taint;
};

/* Errors: -EINVAL (err says what; an unknown key too), -ENOMEM. */
int bridgeconf_parse(const char *text, size_t len, struct bridgeconf *ret, struct err *err);
void bridgeconf_done(struct bridgeconf *c);
/* Is the name one of the array? */
bool bridgeconf_has(const json_t *namespaces, const char *name);
