/* opkinds.c - see opkinds.h */
#include "kube/make/opkinds.h"

#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"

#define KINDS(group)                                                                               \
    {                                                                                              \
        [OPKIND_CONTROLLER] = { group, "v1beta1", "controllers", "Controller", true },             \
        [OPKIND_NODESET] = { group, "v1beta1", "nodesets", "NodeSet", true },                      \
        [OPKIND_ACCOUNTING] = { group, "v1beta1", "accountings", "Accounting", true },             \
        [OPKIND_RESTAPI] = { group, "v1beta1", "restapis", "RestApi", true },                      \
        [OPKIND_LOGINSET] = { group, "v1beta1", "loginsets", "LoginSet", true },                   \
        [OPKIND_TOKEN] = { group, "v1beta1", "tokens", "Token", true },                            \
    }

const struct opgroup opgroups[OPGROUPS] = {
    { "operator.penstock", true, KINDS("operator.penstock") },
    { "slinky.slurm.net", false, KINDS("slinky.slurm.net") },
};

const struct kubekind opowned_kinds[OPOWNED_MAX_] = {
    [OPOWNED_PODS] = { "", "v1", "pods", "Pod", true },
    [OPOWNED_SERVICES] = { "", "v1", "services", "Service", true },
    [OPOWNED_CONFIGMAPS] = { "", "v1", "configmaps", "ConfigMap", true },
    [OPOWNED_SECRETS] = { "", "v1", "secrets", "Secret", true },
    [OPOWNED_STATEFULSETS] = { "apps", "v1", "statefulsets", "StatefulSet", true },
    [OPOWNED_DEPLOYMENTS] = { "apps", "v1", "deployments", "Deployment", true },
    [OPOWNED_BUDGETS] = { "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true },
    [OPOWNED_REVISIONS] = { "apps", "v1", "controllerrevisions", "ControllerRevision", true },
    [OPOWNED_CLAIMS] = { "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true },
    [OPOWNED_NODES] = { "", "v1", "nodes", "Node", false },
    [OPOWNED_MONITORS] = { "monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor",
                           true },
};

enum opowned opkinds_owned(const char *kind)
{
    for (size_t i = 0; i < OPOWNED_MAX_; i++)
        if (strcmp(opowned_kinds[i].kind, kind) == 0)
            return (enum opowned)i;
    return OPOWNED_MAX_;
}

enum opkind opkinds_served(const char *kind)
{
    for (size_t i = 0; i < OPKIND_MAX_; i++)
        if (strcmp(opgroups[0].kinds[i].kind, kind) == 0)
            return (enum opkind)i;
    return OPKIND_MAX_;
}

const struct opgroup *opkinds_group(const json_t *object)
{
    const char *api = kubejson_text(object, "apiVersion");

    for (size_t i = 0; i < OPGROUPS; i++) {
        size_t n = strlen(opgroups[i].name);

        if (strncmp(api, opgroups[i].name, n) == 0 && strcmp(api + n, "/v1beta1") == 0)
            return &opgroups[i];
    }
    return NULL;
}
