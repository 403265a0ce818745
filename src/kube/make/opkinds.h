/* opkinds.h - the kinds that the operator serves, and those that it makes
 *
 * Two groups have the same kinds: the operator's own, and the one of the operator whose manifests
 * are served unchanged where its definitions are present.  Constant data. */
#pragma once

#include "kube/api/kubeapi.h"

enum opkind {
    OPKIND_CONTROLLER,
    OPKIND_NODESET,
    OPKIND_ACCOUNTING,
    OPKIND_RESTAPI,
    OPKIND_LOGINSET,
    OPKIND_TOKEN,
    OPKIND_MAX_
};

#define OPGROUPS 2u
struct opgroup {
    const char *name;
    bool keys_made; /* keys that are not named are made; else naming them is required */
    struct kubekind kinds[OPKIND_MAX_];
};

extern const struct opgroup opgroups[OPGROUPS];

enum opowned {
    OPOWNED_PODS,
    OPOWNED_SERVICES,
    OPOWNED_CONFIGMAPS,
    OPOWNED_SECRETS,
    OPOWNED_STATEFULSETS,
    OPOWNED_DEPLOYMENTS,
    OPOWNED_BUDGETS,
    OPOWNED_REVISIONS,
    OPOWNED_CLAIMS,
    OPOWNED_NODES,
    OPOWNED_MONITORS, /* the server may not have them */
    OPOWNED_MAX_
};

extern const struct kubekind opowned_kinds[OPOWNED_MAX_];

/* OPOWNED_MAX_: it is none of them. */
enum opowned opkinds_owned(const char *kind);
/* OPKIND_MAX_: it is none of them. */
enum opkind opkinds_served(const char *kind);
/* The group of an object that is served; NULL: it is of none. */
const struct opgroup *opkinds_group(const json_t *object);
