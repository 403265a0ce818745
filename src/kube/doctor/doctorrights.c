/* doctorrights.c - see doctorrights.h */
#include "kube/doctor/doctorrights.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define KINDS "controllers,nodesets,accountings,restapis,loginsets,tokens"
#define KINDS_STATUS                                                                               \
    "controllers/status,nodesets/status,accountings/status,restapis/status,loginsets/status,"      \
    "tokens/status"
#define KINDS_FINALIZERS                                                                           \
    "controllers/finalizers,nodesets/finalizers,accountings/finalizers,restapis/finalizers,"       \
    "loginsets/finalizers,tokens/finalizers"

const struct doctorright doctorrights[] = {
    { "own", KINDS, "list,watch", false },
    { "own", KINDS_STATUS, "patch", false },
    { "own", KINDS_FINALIZERS, "update", false },
    { "own", "nodesets", "patch", false }, /* the finalizer of a reservation */
    { "own", "nodesets/scale", "patch", false },
    { "", "nodes", "list,watch", false },
    { "", "pods", "list,watch,create,patch,delete", false },
    { "", "pods/status", "patch", false },
    { "", "services,configmaps,secrets", "get,list,watch,create,patch", false },
    { "", "events", "create,patch", false },
    { "", "persistentvolumeclaims", "list,watch,create,patch", false },
    { "apps", "statefulsets,deployments", "get,list,watch,create,patch", false },
    { "apps", "controllerrevisions", "list,watch,create,delete", false },
    { "policy", "poddisruptionbudgets", "get,list,watch,create,patch", false },
    { "monitoring.coreos.com", "servicemonitors", "get,list,watch,create,patch,delete", false },
    { "coordination.k8s.io", "leases", "get,create,update", true },
};
const size_t doctorrights_count = ARRAY_SIZE(doctorrights);

bool doctorrights_word(const char *list, size_t n, char *buf)
{
    for (; n && list; n--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    if (!list)
        return false;
    (void)snprintf(buf, 64, "%.*s", (int)strcspn(list, ","), list);
    return true;
}
