/* mkcontroller.c - see mkcontroller.h */
#include "kube/make/mkcontroller.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkha.h"
#include "kube/make/mkmonitor.h"
#include "kube/make/opconf.h"
#include "kube/make/opkeys.h"

#define APP "slurmctld"
#define COMPONENT "controller"
#define SLURM_ID 401
#define NAME_SIZE 300u

static const char cgroup_conf[] = "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n";
static const char *const file_refs[] = { "spec.configFileRefs", "spec.prologScriptRefs",
                                         "spec.epilogScriptRefs", "spec.prologSlurmctldScriptRefs",
                                         "spec.epilogSlurmctldScriptRefs" };

/* Do files that the user refers to have one of this name? */
static bool has_file(const struct mkbase_facts *f, const char *file)
{
    size_t i;
    json_t *ref;

    json_array_foreach(kubejson_at(f->cr, "spec.configFileRefs"), i, ref)
    {
        const json_t *map = mkbase_find(f, "ConfigMap", kubejson_text(ref, "name"));

        if (json_object_get(json_object_get(map, "data"), file))
            return true;
    }
    return false;
}

static json_t *make_config(const struct mkbase_facts *f, const char *name)
{
    _cleanup_val_(strbuf_done) struct strbuf conf = STRBUF_INIT;
    json_t *map = mkbase_object(OPOWNED_CONFIGMAPS, mkbase_meta(f, name, APP, COMPONENT, NULL));
    json_t *data;

    opconf_write_slurm(f, &conf);
    data = conf.failed ? NULL : json_pack("{s:s}", "slurm.conf", strbuf_str(&conf));
    if (data && !has_file(f, "cgroup.conf"))
        (void)json_object_set_new(data, "cgroup.conf", json_string(cgroup_conf));
    if (map && json_object_set_new(map, "data", data) == 0)
        return map;
    json_decref(map);
    return NULL;
}

static json_t *make_internal(const struct mkbase_facts *f, const char *name)
{
    json_t *service = mkbase_object(OPOWNED_SERVICES, mkbase_meta(f, name, APP, COMPONENT, NULL));
    json_t *spec = json_pack("{s:s, s:b, s:o, s:[{s:s, s:i, s:s, s:s}]}", "clusterIP", "None",
                             "publishNotReadyAddresses", 1, "selector",
                             mkbase_selector(APP, kubejson_name(f->cr)), "ports", "name", APP,
                             "port", OPCONF_CTLD_PORT, "protocol", "TCP", "targetPort", APP);

    if (service && json_object_set_new(service, "spec", spec) == 0)
        return service;
    json_decref(service);
    return NULL;
}

/* Every ConfigMap that becomes files of /etc/slurm, beside slurm.conf and the keys. */
static int add_file_sources(const struct mkbase_facts *f, json_t *sources)
{
    for (size_t k = 0; k < ARRAY_SIZE(file_refs); k++) {
        size_t i;
        json_t *ref;

        json_array_foreach(kubejson_at(f->cr, file_refs[k]), i, ref)
        {
            const char *name = kubejson_text(ref, "name");

            if (*name &&
                mkbase_push(sources, json_pack("{s:{s:s}}", "configMap", "name", name)) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static json_t *make_etc(const struct mkbase_facts *f, const char *config)
{
    struct mkbase_keys keys;
    _cleanup_json_ json_t *sources = json_array();

    mkbase_keys(f->cr, &keys);
    if (mkbase_push(sources, json_pack("{s:{s:s}}", "configMap", "name", config)) < 0 ||
        mkbase_push(sources, mkbase_source("Secret", &keys.slurm, "slurm.key")) < 0 ||
        mkbase_push(sources, mkbase_source("Secret", &keys.jwt, "jwt.key")) < 0 ||
        (*keys.jwks.name &&
         mkbase_push(sources, mkbase_source("ConfigMap", &keys.jwks, "jwks.json")) < 0) ||
        add_file_sources(f, sources) < 0)
        return NULL;
    return json_pack("{s:s, s:{s:i, s:O}}", "name", "slurm-etc", "projected", "defaultMode", 0610,
                     "sources", sources);
}

static json_t *make_volumes(const struct mkbase_facts *f, const char *config)
{
    const char *claim = kubejson_text(f->cr, "spec.persistence.existingClaim");
    bool kept = kubejson_true(f->cr, "spec.persistence.enabled");
    json_t *list =
        json_pack("[o, {s:s, s:{s:s}}, {s:s, s:{}}, {s:s, s:{s:s}}]", make_etc(f, config), "name",
                  "run", "emptyDir", "medium", "Memory", "name", "slurm-authsocket", "emptyDir",
                  "name", "slurm-logfile", "emptyDir", "medium", "Memory");

    if (list && (!kept || *claim) &&
        mkbase_push(list, kept ? json_pack("{s:s, s:{s:s}}", "name", "statesave",
                                           "persistentVolumeClaim", "claimName", claim)
                               : json_pack("{s:s, s:{}}", "name", "statesave", "emptyDir")) < 0) {
        json_decref(list);
        return NULL;
    }
    if (list && mkha_add_volumes(f, list) < 0) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *make_probe(const char *path, const char *port)
{
    return json_pack("{s:{s:s, s:s}, s:i, s:i}", "httpGet", "path", path, "port", port,
                     "failureThreshold", 6, "periodSeconds", 10);
}

static json_t *make_slurmctld(const struct mkbase_facts *f)
{
    char cluster[64], state[128];
    json_t *built;

    opconf_cluster_name(f->cr, cluster, sizeof(cluster));
    (void)snprintf(state, sizeof(state), "/var/spool/slurmctld/%s", cluster);
    built = json_pack("{s:s, s:[{s:s, s:i, s:s}], s:o, s:o, s:o, s:{s:b, s:i, s:i},"
                      " s:[{s:s, s:s, s:b}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}",
                      "name", APP, "ports", "name", APP, "containerPort", OPCONF_CTLD_PORT,
                      "protocol", "TCP", "startupProbe", make_probe("/livez", APP), "livenessProbe",
                      make_probe("/livez", APP), "readinessProbe",
                      make_probe(opconf_replicas(f->cr) > 1 ? "/livez" : "/readyz", APP),
                      "securityContext", "runAsNonRoot", 1, "runAsUser", SLURM_ID, "runAsGroup",
                      SLURM_ID, "volumeMounts", "name", "slurm-etc", "mountPath", "/etc/slurm",
                      "readOnly", 1, "name", "run", "mountPath", "/run", "name", "statesave",
                      "mountPath", state, "name", "slurm-authsocket", "mountPath", "/run/slurmctld",
                      "name", "slurm-logfile", "mountPath", "/var/log/slurm");
    if (built && mkha_add_mounts(f, built) < 0) {
        json_decref(built);
        return NULL;
    }
    return mkbase_container(f, "slurmctld", built);
}

/* Files change below a link of the kubelet: contents are compared, and the link is not. */
static json_t *make_reconfigure(const struct mkbase_facts *f)
{
    static const char script[] =
        "sums() { find -L /etc/slurm -path '*/..*' -prune -o -type f -print0 | sort -z | "
        "xargs -0 sha256sum; }; last=$(sums); while :; do now=$(sums); "
        "if [ \"$now\" != \"$last\" ]; then until scontrol reconfigure; do sleep 2; done; "
        "last=$now; fi; sleep 5; done";

    return mkbase_container(f, "reconfigure",
                            json_pack("{s:s, s:s, s:[s, s, s], s:[{s:s, s:s, s:b}, {s:s, s:s}]}",
                                      "name", "reconfigure", "restartPolicy", "Always", "command",
                                      "sh", "-c", script, "volumeMounts", "name", "slurm-etc",
                                      "mountPath", "/etc/slurm", "readOnly", 1, "name",
                                      "slurm-authsocket", "mountPath", "/run/slurmctld"));
}

/* Does a change of the configuration reach slurmctld without a new pod?  So it does unless the
 * manifest of the other group says no, or says nothing. */
static bool is_in_place(const json_t *cr)
{
    const json_t *said = kubejson_at(cr, "spec.inplaceReconfigure");

    return said ? json_is_true(said) : opkinds_group(cr)->keys_made;
}

static json_t *make_pod_spec(const struct mkbase_facts *f, const char *config)
{
    json_t *term =
        json_pack("{s:s, s:{s:o}}", "topologyKey", "kubernetes.io/hostname", "labelSelector",
                  "matchLabels", mkbase_selector(APP, kubejson_name(f->cr)));
    json_t *spec = json_pack(
        "{s:b, s:b, s:{s:b, s:i, s:i, s:i}, s:{s:{s:[o]}}, s:[o], s:[o], s:o}",
        "automountServiceAccountToken", 0, "enableServiceLinks", 0, "securityContext",
        "runAsNonRoot", 1, "runAsUser", SLURM_ID, "runAsGroup", SLURM_ID, "fsGroup", SLURM_ID,
        "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", term,
        "containers", make_slurmctld(f), "initContainers",
        mkbase_logfile(f, "/var/log/slurm/slurmctld.log"), "volumes", make_volumes(f, config));

    if (spec && is_in_place(f->cr) &&
        mkbase_push(json_object_get(spec, "initContainers"), make_reconfigure(f)) < 0) {
        json_decref(spec);
        return NULL;
    }
    return spec;
}

/* What replaces the pod when it changes: keys, and the configuration unless it is read in place. */
static int note_hashes(const struct mkbase_facts *f, const json_t *config, json_t *meta)
{
    _cleanup_json_ json_t *all = json_deep_copy(json_object_get(config, "data"));
    struct mkbase_keys keys;
    char hash[MKBASE_HASH];

    mkbase_keys(f->cr, &keys);
    mkbase_hash_of(f, "Secret", &keys.slurm, hash);
    if (mkbase_note(meta, OPKEY_SLURM_KEY_HASH, hash) < 0)
        return -ENOMEM;
    mkbase_hash_of(f, "Secret", &keys.jwt, hash);
    if (mkbase_note(meta, OPKEY_JWT_KEY_HASH, hash) < 0 ||
        mkbase_note(meta, OPKEY_MAIN_CONTAINER, APP) < 0)
        return -ENOMEM;
    if (is_in_place(f->cr))
        return 0;
    for (size_t k = 0; k < ARRAY_SIZE(file_refs); k++) {
        size_t i;
        json_t *ref;

        json_array_foreach(kubejson_at(f->cr, file_refs[k]), i, ref)
        {
            const json_t *map = mkbase_find(f, "ConfigMap", kubejson_text(ref, "name"));

            (void)json_object_update(all, json_object_get(map, "data"));
        }
    }
    mkbase_hash(all, hash);
    return mkbase_note(meta, OPKEY_CONFIG_HASH, hash);
}

/* The claim template: what persistence says beside enabled and existingClaim. */
static json_t *make_claim(const struct mkbase_facts *f)
{
    _cleanup_json_ json_t *built = json_pack("{s:[s], s:{s:{s:s}}}", "accessModes", "ReadWriteOnce",
                                             "resources", "requests", "storage", "4Gi");
    json_t *spec = built ? mkbase_merge(built, kubejson_at(f->cr, "spec.persistence")) : NULL;

    (void)json_object_del(spec, "enabled");
    (void)json_object_del(spec, "existingClaim");
    return json_pack("[{s:{s:s}, s:o}]", "metadata", "name", "statesave", "spec", spec);
}

static json_t *make_set(const struct mkbase_facts *f, const char *name, const char *internal,
                        const char *config_name, const json_t *config)
{
    json_t *meta = mkbase_meta(f, NULL, APP, COMPONENT, "spec.template.metadata");
    json_t *set = mkbase_object(OPOWNED_STATEFULSETS, mkbase_meta(f, name, APP, COMPONENT, NULL));
    bool claims = kubejson_true(f->cr, "spec.persistence.enabled") &&
                  !*kubejson_text(f->cr, "spec.persistence.existingClaim");
    json_t *spec;

    if (!meta || note_hashes(f, config, meta) < 0) {
        json_decref(meta);
        json_decref(set);
        return NULL;
    }
    spec = json_pack("{s:i, s:i, s:s, s:{s:o}, s:o}", "replicas", opconf_replicas(f->cr),
                     "revisionHistoryLimit", 0, "serviceName", internal, "selector", "matchLabels",
                     mkbase_selector(APP, kubejson_name(f->cr)), "template",
                     mkbase_template(f, meta, make_pod_spec(f, config_name)));
    /* A standby is made again whatever the others do: none waits for one that cannot start. */
    if (spec && mkha_in_etcd(f->cr) &&
        json_object_set_new(spec, "podManagementPolicy", json_string("Parallel")) < 0) {
        json_decref(spec);
        spec = NULL;
    }
    if (!spec || !set || json_object_set(set, "spec", spec) < 0 ||
        (claims && json_object_set_new(spec, "volumeClaimTemplates", make_claim(f)) < 0)) {
        json_decref(set);
        set = NULL;
    }
    json_decref(spec);
    return set;
}

static json_t *make_service(const struct mkbase_facts *f, const char *name, json_t *selector)
{
    json_t *service = mkbase_service(f, name, APP, COMPONENT, APP, OPCONF_CTLD_PORT, selector);

    if (service && mkmonitor_is_wanted(f->cr) &&
        json_object_set_new(kubejson_at(service, "metadata.labels"), MKMONITOR_LABEL,
                            json_string("true")) < 0) {
        json_decref(service);
        return NULL;
    }
    return service;
}

int mkcontroller_objects(const struct mkbase_facts *f, json_t **ret)
{
    char config[NAME_SIZE], service[NAME_SIZE], internal[NAME_SIZE];
    _cleanup_json_ json_t *all = json_array();
    const char *name = kubejson_name(f->cr);
    json_t *selector;

    (void)snprintf(config, sizeof(config), "%s-config", name);
    (void)snprintf(service, sizeof(service), "%s-controller", name);
    (void)snprintf(internal, sizeof(internal), "%s-controller-internal", name);
    if (mkbase_push(all, make_config(f, config)) < 0)
        return -ENOMEM;
    if (!kubejson_true(f->cr, "spec.external")) {
        selector = mkbase_selector(APP, name);
        if (opconf_replicas(f->cr) > 1 && selector &&
            json_object_set_new(selector, OPKEY_ACTIVE, json_string("true")) < 0) {
            json_decref(selector);
            return -ENOMEM;
        }
        if (mkbase_push(all, make_internal(f, internal)) < 0 ||
            mkbase_push(all, make_service(f, service, selector)) < 0 ||
            (mkha_in_etcd(f->cr) && mkbase_push(all, mkha_budget(f, service)) < 0) ||
            mkbase_push(all, make_set(f, service, internal, config, json_array_get(all, 0))) < 0)
            return -ENOMEM;
    }
    *ret = TAKE_PTR(all);
    return 0;
}
