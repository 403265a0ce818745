/* mkworkers.c - see mkworkers.h
 *
 * A pod's name is made of the NodeSet's and of its ordinal or node, so that a pod which is made
 * twice is refused by the server: nobody has to count what is under way. */
#include "kube/make/mkworkers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubequantity.h"
#include "kube/make/mkssh.h"
#include "kube/make/opconf.h"
#include "kube/make/opkeys.h"

#define APP "slurmd"
#define COMPONENT "worker"
#define NAME_SIZE 300u
#define SSSD "spec.ssh.sssdConfRef"

static const char *const revision_parts[] = {
    "template", "slurmd", "logfile", "ssh", "extraConf", "ordinalPadding", "oversubscribeNode"
};

static json_t *copy_parts(const json_t *nodeset)
{
    const json_t *spec = json_object_get(nodeset, "spec");
    json_t *parts = json_object();

    for (size_t i = 0; parts && i < ARRAY_SIZE(revision_parts); i++) {
        json_t *value = json_object_get(spec, revision_parts[i]);

        if (value)
            (void)json_object_set(parts, revision_parts[i], value);
    }
    return parts;
}

void mkworkers_revision(const json_t *nodeset, char ret[static MKWORKERS_REVISION])
{
    _cleanup_json_ json_t *parts = copy_parts(nodeset);
    _cleanup_free_ char *text = json_dumps(parts, JSON_COMPACT | JSON_SORT_KEYS);
    struct digest d;

    ret[0] = '\0';
    if (!text || digest_of(text, strlen(text), &d) < 0)
        return;
    for (size_t i = 0; i < 5; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", d.bytes[i]);
}

json_t *mkworkers_history(const struct mkbase_facts *f, const char *revision, int64_t number)
{
    char name[NAME_SIZE];
    json_t *object, *meta;

    (void)snprintf(name, sizeof(name), "%s-%s", kubejson_name(f->cr), revision);
    meta = mkbase_meta(f, name, APP, COMPONENT, NULL);
    if (meta)
        (void)json_object_set_new(json_object_get(meta, "labels"), OPKEY_REVISION,
                                  json_string(revision));
    object = mkbase_object(OPOWNED_REVISIONS, meta);
    if (object && json_object_set_new(object, "revision", json_integer(number)) == 0 &&
        json_object_set_new(object, "data", json_pack("{s:o}", "spec", copy_parts(f->cr))) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int padding_of(const json_t *nodeset)
{
    return (int)kubejson_int(nodeset, "spec.ordinalPadding", 0);
}

void mkworkers_name(const json_t *nodeset, int64_t ordinal, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s-%0*lld", kubejson_name(nodeset), MAX(padding_of(nodeset), 1),
                   (long long)ordinal);
}

void mkworkers_node_name(const json_t *nodeset, const char *node, char *buf, size_t size)
{
    struct digest d = { { 0 } };

    if (digest_of(node, strlen(node), &d) < 0)
        d = (struct digest){ { 0 } }; /* the server refuses the second of these names */
    (void)snprintf(buf, size, "%s-n%02x%02x%02x%02x%02x", kubejson_name(nodeset), d.bytes[0],
                   d.bytes[1], d.bytes[2], d.bytes[3], d.bytes[4]);
}

int64_t mkworkers_ordinal(const json_t *nodeset, const char *name)
{
    const char *set = kubejson_name(nodeset);
    size_t n = strlen(set), digits;

    if (strncmp(name, set, n) != 0 || name[n] != '-')
        return -1;
    name += n + 1;
    digits = strspn(name, "0123456789");
    return digits && digits <= 9 && !name[digits] ? strtoll(name, NULL, 10) : -1;
}

const char *mkworkers_slurm_name(const json_t *pod)
{
    const char *host = kubejson_label(pod, OPKEY_POD_HOSTNAME);
    const char *node = kubejson_text(pod, "spec.nodeName");

    if (kubejson_true(pod, "spec.hostNetwork") && *node)
        return node; /* slurmd there sees the host's name */
    return host && *host ? host : kubejson_name(pod);
}

void mkworkers_node_host(const json_t *node, char ret[static MKWORKERS_HOST])
{
    const char *over = kubejson_annotation(node, OPKEY_HOSTNAME);
    const char *name = over && *over ? over : kubejson_name(node);

    (void)snprintf(ret, MKWORKERS_HOST, "%.*s", (int)MIN(strcspn(name, "."), 63u), name);
}

/* The pod's hostname, which is its name in Slurm. */
static void write_host(const json_t *nodeset, const char *pod, int64_t ordinal, const json_t *node,
                       char *buf, size_t size)
{
    const char *prefix = kubejson_text(nodeset, "spec.template.spec.hostname");
    char host[MKWORKERS_HOST];

    if (node) {
        mkworkers_node_host(node, host);
        (void)snprintf(buf, size, "%s", host);
    } else if (*prefix) {
        (void)snprintf(buf, size, "%s%0*lld", prefix, MAX(padding_of(nodeset), 1),
                       (long long)ordinal);
    } else {
        (void)snprintf(buf, size, "%s", pod);
    }
}

/* ---- slurmd's own configuration -------------------------------------------------------------- */

#define WORDS_MAX 64u

struct conf_words {
    size_t n;
    struct conf_word {
        char key[64];
        char value[512];
    } words[WORDS_MAX];
};

/* Add Key=Value; a key that is there already gets one value more. */
static void add_word(struct conf_words *w, const char *key, size_t key_len, const char *value,
                     size_t value_len)
{
    char name[64];
    size_t i;

    (void)snprintf(name, sizeof(name), "%.*s", (int)MIN(key_len, 60u), key);
    name[0] = (char)toupper((unsigned char)name[0]);
    if (strcmp(name, "Feature") == 0)
        (void)snprintf(name, sizeof(name), "Features");
    for (i = 0; i < w->n && strcmp(w->words[i].key, name) != 0; i++)
        continue;
    if (i == WORDS_MAX || !value_len)
        return;
    if (i < w->n) {
        size_t at = strlen(w->words[i].value);

        (void)snprintf(w->words[i].value + at, sizeof(w->words[i].value) - at, ",%.*s",
                       (int)value_len, value);
        return;
    }
    (void)snprintf(w->words[i].key, sizeof(w->words[i].key), "%s", name);
    (void)snprintf(w->words[i].value, sizeof(w->words[i].value), "%.*s", (int)value_len, value);
    w->n++;
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(((const struct conf_word *)a)->key, ((const struct conf_word *)b)->key);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Features in order, each once: the set's own name may be said again. */
static void sort_features(struct conf_word *word)
{
    char copy[sizeof(word->value)], *names[sizeof(copy) / 2 + 1], *next = copy, *name;
    size_t n = 0, at = 0;

    memcpy(copy, word->value, sizeof(copy));
    while ((name = strsep(&next, ",")))
        if (*name)
            names[n++] = name;
    qsort(names, n, sizeof(*names), compare_texts);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            at += (size_t)snprintf(word->value + at, sizeof(word->value) - at, "%s%s",
                                   at ? "," : "", names[i]); /* never longer than it was */
}

/* What stands behind --conf, in order of keys.  A word without a value is never written: what comes
 * behind it would be taken for its value. */
static int write_conf(const json_t *nodeset, const json_t *node, struct strbuf *out)
{
    _cleanup_free_ struct conf_words *w = calloc(1, sizeof(*w));
    const char *text = kubejson_text(nodeset, "spec.extraConf");
    const char *topology = node ? kubejson_annotation(node, OPKEY_TOPOLOGY) : NULL;
    char buf[64];
    const char *name = opconf_nodeset_name(nodeset, buf);

    if (!w)
        return -ENOMEM;
    add_word(w, "Features", 8, name, strlen(name));
    for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
        size_t n = strcspn(text, " \t\n"), key = strcspn(text, "=");

        add_word(w, text, key, text + key + 1, n - key - 1);
        text += n;
    }
    if (topology && *topology && !strpbrk(topology, " '\"\n"))
        add_word(w, "Topology", 8, topology, strlen(topology));
    sort_features(&w->words[0]);
    qsort(w->words, w->n, sizeof(w->words[0]), compare_words);
    for (size_t i = 0; i < w->n; i++)
        strbuf_addf(out, "%s%s=%s", i ? " " : "", w->words[i].key, w->words[i].value);
    return out->failed ? -ENOMEM : 0;
}

/* ---- the pod --------------------------------------------------------------------------------- */

static int64_t limit_of(const json_t *nodeset, const char *what, int64_t unit)
{
    const json_t *v = kubejson_at(nodeset, "spec.slurmd.resources.limits");
    int64_t milli;

    v = json_object_get(v, what);
    if (!v)
        v = json_object_get(kubejson_at(nodeset, "spec.template.spec.resources.limits"), what);
    return v && kubequantity_read(v, &milli) == 0 ? milli / 1000 / unit : 0;
}

int64_t mkworkers_cpus(const json_t *nodeset)
{
    return limit_of(nodeset, "cpu", 1);
}

void mkworkers_domain(const struct mkbase_facts *f, char ret[static MKWORKERS_DOMAIN])
{
    (void)snprintf(ret, MKWORKERS_DOMAIN, "slurm-workers-%s.%s.svc.cluster.local",
                   kubejson_name(f->controller), kubejson_namespace(f->cr));
}

void mkworkers_server(const struct mkbase_facts *f, char ret[static MKWORKERS_DOMAIN])
{
    if (kubejson_true(f->controller, "spec.external"))
        (void)snprintf(ret, MKWORKERS_DOMAIN, "%s:%d",
                       kubejson_text(f->controller, "spec.externalConfig.host"),
                       (int)kubejson_int(f->controller, "spec.externalConfig.port", 0));
    else
        (void)snprintf(ret, MKWORKERS_DOMAIN, "%s-controller.%s:%d", kubejson_name(f->controller),
                       kubejson_namespace(f->cr), OPCONF_CTLD_PORT);
}

static json_t *make_args(const struct mkbase_facts *f, const json_t *node)
{
    _cleanup_val_(strbuf_done) struct strbuf conf = STRBUF_INIT;
    _cleanup_val_(strbuf_done) struct strbuf quoted = STRBUF_INIT;
    char server[MKWORKERS_DOMAIN];

    mkworkers_server(f, server);
    if (write_conf(f->cr, node, &conf) < 0)
        return NULL;
    strbuf_addf(&quoted, "'%s'", strbuf_str(&conf));
    return json_pack("[s, s, s, s, s]", "-Z", "--conf-server", server, "--conf",
                     strbuf_str(&quoted));
}

/* Users may log in where their jobs run: sshd and SSSD beside slurmd. */
static bool has_ssh(const struct mkbase_facts *f)
{
    return kubejson_true(f->cr, "spec.ssh.enabled");
}

static json_t *make_ssh_config(const struct mkbase_facts *f)
{
    char name[NAME_SIZE];

    (void)snprintf(name, sizeof(name), "%s-ssh-config", kubejson_name(f->cr));
    return mkssh_config(f, name, APP, COMPONENT, kubejson_text(f->cr, "spec.ssh.extraSshdConfig"),
                        NULL);
}

static int add_ssh_parts(const struct mkbase_facts *f, json_t *slurmd)
{
    json_t *mounts = json_object_get(slurmd, "volumeMounts");

    if (mkbase_push(json_object_get(slurmd, "ports"),
                    json_pack("{s:s, s:i, s:s}", "name", "ssh", "containerPort", MKSSH_PORT,
                              "protocol", "TCP")) < 0 ||
        mkssh_mount(mounts, "ssh-config", "/etc/ssh", "sshd_config") < 0 ||
        (mkssh_has_sssd(f, SSSD) && mkssh_mount(mounts, "sssd-conf", "/etc/sssd", "sssd.conf") < 0))
        return -ENOMEM;
    return 0;
}

static int add_ssh_volumes(const struct mkbase_facts *f, json_t *volumes)
{
    char name[NAME_SIZE];

    (void)snprintf(name, sizeof(name), "%s-ssh-config", kubejson_name(f->cr));
    if (mkbase_push(volumes, json_pack("{s:s, s:{s:s, s:i}}", "name", "ssh-config", "configMap",
                                       "name", name, "defaultMode", 0600)) < 0 ||
        (mkssh_has_sssd(f, SSSD) && mkbase_push(volumes, mkssh_sssd(f, SSSD)) < 0))
        return -ENOMEM;
    return 0;
}

static json_t *make_slurmd(const struct mkbase_facts *f, const json_t *node)
{
    static const char stop[] = "scontrol update nodename=$(hostname) state=down "
                               "reason='" OPKEY_ENDED "'";
    char cpus[32], mem[32];
    json_t *built;

    (void)snprintf(cpus, sizeof(cpus), "%lld", (long long)mkworkers_cpus(f->cr));
    (void)snprintf(mem, sizeof(mem), "%lld", (long long)limit_of(f->cr, "memory", 1 << 20));
    built = json_pack("{s:s, s:o, s:[{s:s, s:i, s:s}], s:[{s:s, s:s}, {s:s, s:s}],"
                      " s:{s:{s:s, s:s}, s:i, s:i}, s:{s:{s:s, s:s}, s:i, s:i},"
                      " s:{s:{s:{s:[s, s, s]}}}, s:{s:b, s:{s:[s, s, s, s]}},"
                      " s:[{s:s, s:s, s:b}, {s:s, s:s}]}",
                      "name", APP, "args", make_args(f, node), "ports", "name", APP,
                      "containerPort", OPCONF_NODE_PORT, "protocol", "TCP", "env", "name",
                      "POD_CPUS", "value", cpus, "name", "POD_MEMORY", "value", mem,
                      "livenessProbe", "httpGet", "path", "/livez", "port", APP, "failureThreshold",
                      6, "periodSeconds", 10, "readinessProbe", "httpGet", "path", "/readyz",
                      "port", APP, "failureThreshold", 3, "periodSeconds", 10, "lifecycle",
                      "preStop", "exec", "command", "sh", "-c", stop, "securityContext",
                      "privileged", 1, "capabilities", "add", "BPF", "NET_ADMIN", "SYS_ADMIN",
                      "SYS_NICE", "volumeMounts", "name", "slurm-etc", "mountPath", "/etc/slurm",
                      "readOnly", 1, "name", "slurm-logfile", "mountPath", "/var/log/slurm");
    if (built && has_ssh(f) && add_ssh_parts(f, built) < 0) {
        json_decref(built);
        return NULL;
    }
    return mkbase_container(f, "slurmd", built);
}

static void add_affinity(const struct mkbase_facts *f, json_t *spec)
{
    json_t *affinity = json_object();

    if (!kubejson_true(f->cr, "spec.oversubscribeNode"))
        (void)json_object_set_new(affinity, "podAntiAffinity",
                                  json_pack("{s:[{s:s, s:{s:{s:s}}}]}",
                                            "requiredDuringSchedulingIgnoredDuringExecution",
                                            "topologyKey", "kubernetes.io/hostname",
                                            "labelSelector", "matchLabels", OPKEY_NAME, APP));
    (void)json_object_set_new(spec, "affinity", affinity); /* the pod is refused without */
}

/* The member, made as an object if it is none.  NULL: no memory. */
static json_t *open_member(json_t *object, const char *key)
{
    json_t *member = json_object_get(object, key);

    if (!json_is_object(member) && json_object_set_new(object, key, member = json_object()) < 0)
        return NULL;
    return member;
}

/* Terms are alternatives: each is cut down to the node. */
int mkworkers_pin(json_t *spec, const char *node)
{
    json_t *at = open_member(spec, "affinity"), *terms, *one;
    size_t i;

    /* what a user's template has in common with other pods is not changed */
    at = at && json_object_set_new(spec, "affinity", json_deep_copy(at)) == 0
             ? open_member(json_object_get(spec, "affinity"), "nodeAffinity")
             : NULL;
    at = at ? open_member(at, "requiredDuringSchedulingIgnoredDuringExecution") : NULL;
    terms = at ? json_object_get(at, "nodeSelectorTerms") : NULL;
    if (at && !json_array_size(terms) &&
        json_object_set_new(at, "nodeSelectorTerms", terms = json_pack("[{}]")) < 0)
        return -ENOMEM;
    json_array_foreach(terms, i, one)
    {
        json_t *fields = json_object_get(one, "matchFields");

        if (!json_is_array(fields) &&
            json_object_set_new(one, "matchFields", fields = json_array()) < 0)
            return -ENOMEM;
        if (mkbase_push(fields, json_pack("{s:s, s:s, s:[s]}", "key", "metadata.name", "operator",
                                          "In", "values", node)) < 0)
            return -ENOMEM;
    }
    return at ? 0 : -ENOMEM;
}

static json_t *make_pod_spec(const struct mkbase_facts *f, const json_t *node)
{
    const char *controller = kubejson_name(f->controller);
    struct mkbase_keys keys;
    char service[NAME_SIZE], search[MKWORKERS_DOMAIN];
    json_t *spec;

    mkbase_keys(f->controller, &keys);
    (void)snprintf(service, sizeof(service), "slurm-workers-%s", controller);
    mkworkers_domain(f, search);
    spec = json_pack(
        "{s:b, s:b, s:s, s:{s:[s]}, s:[{s:s, s:s, s:s}], s:[o], s:[o],"
        " s:[{s:s, s:{s:i, s:[o]}}, {s:s, s:{s:s}}]}",
        "automountServiceAccountToken", 0, "enableServiceLinks", 0, "subdomain", service,
        "dnsConfig", "searches", search, "tolerations", "key", OPKEY_WORKER_TAINT, "operator",
        "Exists", "effect", "NoExecute", "containers", make_slurmd(f, node), "initContainers",
        mkbase_logfile(f, "/var/log/slurm/slurmd.log"), "volumes", "name", "slurm-etc", "projected",
        "defaultMode", 0600, "sources", mkbase_source("Secret", &keys.slurm, "slurm.key"), "name",
        "slurm-logfile", "emptyDir", "medium", "Memory");
    if (spec)
        add_affinity(f, spec);
    if (spec && has_ssh(f) && add_ssh_volumes(f, json_object_get(spec, "volumes")) < 0) {
        json_decref(spec);
        return NULL;
    }
    return spec;
}

static int add_labels(const struct mkbase_facts *f, int64_t ordinal, const json_t *node,
                      const char *name, const char *host, json_t *meta)
{
    json_t *labels = json_object_get(meta, "labels");
    const char *topology = node ? kubejson_annotation(node, OPKEY_TOPOLOGY) : NULL;
    char revision[MKWORKERS_REVISION], index[32];

    mkworkers_revision(f->cr, revision);
    (void)snprintf(index, sizeof(index), "%0*lld", MAX(padding_of(f->cr), 1), (long long)ordinal);
    if (json_object_set_new(labels, OPKEY_CLUSTER, json_string(kubejson_name(f->controller))) < 0 ||
        json_object_set_new(labels, OPKEY_POD_NAME, json_string(name)) < 0 ||
        json_object_set_new(labels, OPKEY_POD_HOSTNAME, json_string(host)) < 0 ||
        json_object_set_new(labels, OPKEY_MODE,
                            json_string(kubejson_text(f->cr, "spec.scalingMode"))) < 0 ||
        json_object_set_new(labels, OPKEY_REVISION, json_string(revision)) < 0 ||
        (kubejson_true(f->cr, "spec.workloadDisruptionProtection") &&
         json_object_set_new(labels, OPKEY_PROTECT, json_string("true")) < 0) ||
        (!node && json_object_set_new(labels, OPKEY_POD_INDEX, json_string(index)) < 0))
        return -ENOMEM;
    if (topology && *topology && mkbase_note(meta, OPKEY_TOPOLOGY, topology) < 0)
        return -ENOMEM;
    return mkbase_note(meta, OPKEY_MAIN_CONTAINER, APP);
}

/* Name of a claim of a template: TEMPLATE-POD. */
static int add_claim_volumes(const json_t *nodeset, const char *pod, json_t *spec)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(nodeset, "spec.volumeClaimTemplates"), i, one)
    {
        const char *claim = kubejson_name(one);
        char name[NAME_SIZE * 2];

        (void)snprintf(name, sizeof(name), "%s-%s", claim, pod);
        if (mkbase_push(json_object_get(spec, "volumes"),
                        json_pack("{s:s, s:{s:s}}", "name", claim, "persistentVolumeClaim",
                                  "claimName", name)) < 0)
            return -ENOMEM;
    }
    return 0;
}

json_t *mkworkers_pod(const struct mkbase_facts *f, int64_t ordinal, const json_t *node)
{
    char name[NAME_SIZE], host[NAME_SIZE];
    _cleanup_json_ json_t *template_ = NULL, *meta = NULL;
    json_t *pod, *spec;

    if (node)
        mkworkers_node_name(f->cr, kubejson_name(node), name, sizeof(name));
    else
        mkworkers_name(f->cr, ordinal, name, sizeof(name));
    write_host(f->cr, name, ordinal, node, host, sizeof(host));
    meta = mkbase_meta(f, name, APP, COMPONENT, "spec.template.metadata");
    if (!meta || add_labels(f, ordinal, node, name, host, meta) < 0)
        return NULL;
    template_ = mkbase_template(f, json_incref(meta), make_pod_spec(f, node));
    spec = json_object_get(template_, "spec");
    if (!spec || json_object_set_new(spec, "hostname", json_string(host)) < 0 ||
        add_claim_volumes(f->cr, name, spec) < 0 ||
        (node && mkworkers_pin(spec, kubejson_name(node)) < 0))
        return NULL;
    pod = mkbase_object(OPOWNED_PODS, json_incref(meta));
    if (pod && json_object_set(pod, "spec", spec) == 0)
        return pod;
    json_decref(pod);
    return NULL;
}

json_t *mkworkers_claims(const struct mkbase_facts *f, const json_t *pod)
{
    bool owned =
        strcmp(kubejson_text(f->cr, "spec.persistentVolumeClaimRetentionPolicy.whenDeleted"),
               "Delete") == 0;
    json_t *list = json_array(), *one;
    size_t i;

    json_array_foreach(kubejson_at(f->cr, "spec.volumeClaimTemplates"), i, one)
    {
        char name[NAME_SIZE * 2];
        json_t *claim, *meta;

        (void)snprintf(name, sizeof(name), "%s-%s", kubejson_name(one), kubejson_name(pod));
        meta = mkbase_meta(f, name, APP, COMPONENT, NULL);
        if (meta && !owned)
            (void)json_object_del(meta, "ownerReferences");
        claim = mkbase_object(OPOWNED_CLAIMS, meta);
        if (claim && json_object_set(claim, "spec", json_object_get(one, "spec")) < 0) {
            json_decref(claim);
            claim = NULL;
        }
        if (json_array_append_new(list, claim) < 0) { /* claim NULL, too */
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The budget of marked workers lets none go.  maxUnavailable 0 would count them by the replicas
 * that a set asks for: of a set that is to shrink, any worker above that number could be evicted,
 * with its jobs. */
#define MORE_THAN_ANY INT32_MAX

int mkworkers_shared(const struct mkbase_facts *f, json_t **ret)
{
    struct mkbase_facts of = *f;
    const char *controller = kubejson_name(f->controller);
    char service[NAME_SIZE], budget[NAME_SIZE];
    json_t *a, *b;

    of.cr = f->controller;
    (void)snprintf(service, sizeof(service), "slurm-workers-%s", controller);
    (void)snprintf(budget, sizeof(budget), "slurm-workers-pdb-%s", controller);
    a = mkbase_object(OPOWNED_SERVICES, mkbase_meta(&of, service, APP, COMPONENT, NULL));
    b = mkbase_object(OPOWNED_BUDGETS, mkbase_meta(&of, budget, APP, COMPONENT, NULL));
    if (!a || !b ||
        json_object_set_new(a, "spec",
                            json_pack("{s:s, s:b, s:{s:s, s:s}, s:[{s:s, s:i, s:s, s:s}]}",
                                      "clusterIP", "None", "publishNotReadyAddresses", 1,
                                      "selector", OPKEY_NAME, APP, OPKEY_CLUSTER, controller,
                                      "ports", "name", APP, "port", OPCONF_NODE_PORT, "protocol",
                                      "TCP", "targetPort", APP)) < 0 ||
        json_object_set_new(b, "spec",
                            json_pack("{s:i, s:{s:{s:s, s:s}}}", "minAvailable", MORE_THAN_ANY,
                                      "selector", "matchLabels", OPKEY_PROTECT, "true",
                                      OPKEY_CLUSTER, controller)) < 0) {
        json_decref(a);
        json_decref(b);
        return -ENOMEM;
    }
    *ret = json_pack("[o, o]", a, b);
    if (*ret && has_ssh(f) && mkbase_push(*ret, make_ssh_config(f)) < 0) {
        json_decref(*ret);
        *ret = NULL;
    }
    return *ret ? 0 : -ENOMEM;
}
