/* jobmake.c - see jobmake.h */
#include "kube/bridge/jobmake.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubequantity.h"
#include "kube/claim/bridgekeys.h"
#include "kube/bridge/podidentity.h"
#include "kube/claim/podread.h"
#include "kube/claim/devask.h"

enum note_type { NOTE_TEXT, NOTE_INT, NOTE_LIMIT, NOTE_CPUS, NOTE_MEM };

static const struct {
    const char *note, *field;
    enum note_type type;
} notes[] = {
    { "account", "account", NOTE_TEXT },
    { "constraints", "constraints", NOTE_TEXT },
    { "cpu-per-task", "cpus_per_task", NOTE_CPUS },
    { "gres", "tres_per_node", NOTE_TEXT },
    { "job-name", "name", NOTE_TEXT },
    { "licenses", "licenses", NOTE_TEXT },
    { "mem-per-node", "memory_per_node", NOTE_MEM },
    { "partition", "partition", NOTE_TEXT },
    { "priority", "priority", NOTE_LIMIT },
    { "qos", "qos", NOTE_TEXT },
    { "reservation", "reservation", NOTE_TEXT },
    { "timelimit", "time_limit", NOTE_LIMIT },
    { "wckey", "wckey", NOTE_TEXT },
};

static int set_new(json_t *job, const char *field, json_t *value)
{
    return json_object_set_new(job, field, value) < 0 ? -ENOMEM : 0;
}

static json_t *number_of(int64_t n)
{
    return json_pack("{s:b, s:b, s:I}", "set", 1, "infinite", 0, "number", (json_int_t)n);
}

static int64_t mib_of(int64_t milli)
{
    int64_t bytes = kubequantity_units(milli);

    return bytes / 1048576 + (bytes % 1048576 > 0);
}

static int set_note(json_t *job, size_t i, const char *text, struct err *err)
{
    int64_t n = 0;
    bool bad = false;

    if (notes[i].type == NOTE_TEXT)
        return set_new(job, notes[i].field, json_string(text));
    if (notes[i].type == NOTE_CPUS || notes[i].type == NOTE_MEM)
        bad = kubequantity_parse(text, &n) < 0;
    else
        bad = parse_i64(text, 0, INT32_MAX, &n) < 0;
    if (bad)
        return err_set(err, -EINVAL, "the annotation " BRIDGE_NOTE_PREFIX "%s: %.40s is no number",
                       notes[i].note, text);
    if (notes[i].type == NOTE_CPUS)
        return set_new(job, notes[i].field, json_integer(kubequantity_units(n)));
    if (notes[i].type == NOTE_MEM)
        return set_new(job, notes[i].field, number_of(mib_of(n)));
    return set_new(job, notes[i].field,
                   notes[i].type == NOTE_LIMIT ? number_of(n) : json_integer(n));
}

/* A number of the annotation; dflt: there is none. */
static int read_note(const json_t *root, const char *note, int64_t dflt, int64_t *ret,
                     struct err *err)
{
    const char *text;
    char key[128];

    (void)snprintf(key, sizeof(key), BRIDGE_NOTE_PREFIX "%s", note);
    text = kubejson_annotation(root, key);
    *ret = dflt;
    if (text && *text && parse_i64(text, 1, INT32_MAX, ret) < 0)
        return err_set(err, -EINVAL, "the annotation " BRIDGE_NOTE_PREFIX "%s: %.40s is no number",
                       note, text);
    return 0;
}

/* Each pod has a node of its own, and all start together: there may be more nodes, not fewer. */
static int set_nodes(json_t *job, const struct jobmake *m, struct err *err)
{
    int64_t n = (int64_t)json_array_size(m->pods), least, most;

    if (read_note(m->root, "min-nodes", n, &least, err) < 0)
        return -EINVAL;
    least = MAX(least, n);
    if (read_note(m->root, "max-nodes", least, &most, err) < 0)
        return -EINVAL;
    if (most < least)
        return err_set(err, -EINVAL,
                       "the annotation " BRIDGE_NOTE_PREFIX "max-nodes: %lld, and %lld are needed",
                       (long long)most, (long long)least);
    if (set_new(job, "minimum_nodes", json_integer(least)) < 0 ||
        set_new(job, "maximum_nodes", json_integer(most)) < 0 ||
        set_new(job, "tasks", json_integer(least)) < 0)
        return -ENOMEM;
    return 0;
}

/* A pod's author may say whose the job is only where the configuration believes the namespace. */
static int set_identity(json_t *job, const struct jobmake *m, struct err *err)
{
    static const struct {
        const char *note, *field;
    } ids[] = { { "user-id", "user_id" }, { "group-id", "group_id" } };
    int64_t id;

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        if (read_note(m->root, ids[i].note, 0, &id, err) < 0)
            return -EINVAL;
        if (id && !m->identity)
            return err_set(err, -EINVAL,
                           "the annotation " BRIDGE_NOTE_PREFIX
                           "%s: the bridge's identityNamespaces have not this namespace",
                           ids[i].note);
        if (id && set_new(job, ids[i].field, json_sprintf("%lld", (long long)id)) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int set_notes(json_t *job, const json_t *root, struct err *err)
{
    const char *exclusive = kubejson_annotation(root, BRIDGE_NOTE_PREFIX "exclusive");
    char key[128];
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(notes); i++) {
        const char *text;

        (void)snprintf(key, sizeof(key), BRIDGE_NOTE_PREFIX "%s", notes[i].note);
        text = kubejson_annotation(root, key);
        if (text && *text)
            r = set_note(job, i, text, err);
    }
    if (r == 0 && !(exclusive && strcmp(exclusive, "false") == 0))
        r = set_new(job, "shared", json_pack("[s]", "none"));
    return r;
}

/* The largest of what the pods want: all nodes of a job are alike. */
static int set_wants(json_t *job, const struct jobmake *m, struct err *err)
{
    struct podread_wants most = { 0 }, one = { 0 };
    _cleanup_val_(strbuf_done) struct strbuf gres = STRBUF_INIT;
    _cleanup_json_ json_t *classes = json_object();
    size_t i;
    json_t *pod;
    int r = 0;

    json_array_foreach(m->pods, i, pod)
    {
        _cleanup_json_ json_t *asks = json_incref(json_object_get(m->asks, kubejson_uid(pod)));

        if (podread_wants(pod, &one, err) < 0)
            return -EINVAL;
        r = asks ? 0 : devask_read(pod, &asks, err);
        if (r == 0 && (!classes || devask_raise(classes, asks) < 0))
            r = -ENOMEM;
        if (r < 0)
            return r;
        most.cpus = MAX(MAX(most.cpus, one.cpus), devask_cpus(asks));
        most.mem_mib = MAX(most.mem_mib, one.mem_mib);
        most.gpus = MAX(most.gpus, one.gpus);
    }
    if (most.cpus > INT32_MAX || most.gpus > INT32_MAX)
        return err_set(err, -EINVAL, "the resources are too large");
    if (most.cpus)
        r = set_new(job, "cpus_per_task", json_integer(most.cpus));
    if (r == 0 && most.mem_mib)
        r = set_new(job, "memory_per_node", number_of(most.mem_mib));
    if (most.gpus)
        strbuf_addf(&gres, "gres/gpu=%d", (int)most.gpus);
    devask_write(classes, &gres);
    if (r == 0 && gres.len)
        r = set_new(job, "tres_per_node", json_string(strbuf_str(&gres)));
    return r;
}

/* What the configuration says of the pods' priority class; annotations come behind it. */
static int set_class(json_t *job, const struct jobmake *m)
{
    const char *name = kubejson_text(json_array_get(m->pods, 0), "spec.priorityClassName");
    size_t i;
    json_t *one;

    json_array_foreach(m->classes, i, one)
    {
        json_t *qos = json_object_get(one, "qos"), *partition = json_object_get(one, "partition");

        if (strcmp(kubejson_text(one, "name"), name) != 0)
            continue;
        if ((qos && json_object_set(job, "qos", qos) < 0) ||
            (partition && json_object_set(job, "partition", partition) < 0))
            return -ENOMEM;
        return 0;
    }
    return 0;
}

static json_t *make_comment(const struct jobmake *m)
{
    _cleanup_json_ json_t *names = json_array(), *uids = json_array(), *comment = NULL;
    _cleanup_free_ char *text = NULL;
    size_t i;
    json_t *pod;

    json_array_foreach(
        m->pods, i,
        pod) if (json_array_append_new(names, json_sprintf("%s/%s", kubejson_namespace(pod),
                                                           kubejson_name(pod))) < 0 ||
                 json_array_append_new(uids, json_string(kubejson_uid(pod))) < 0) return NULL;
    comment = json_pack("{s:O, s:s, s:I, s:O}", "pods", names, "gang", m->gang, "attempt",
                        (json_int_t)m->attempt, "uids", uids);
    if (m->bridge && *m->bridge &&
        json_object_set_new(comment, "bridge", json_string(m->bridge)) < 0)
        return NULL;
    text = json_dumps(comment, JSON_COMPACT);
    return text ? json_string(text) : NULL;
}

int jobmake_body(const struct jobmake *m, json_t **ret, struct err *err)
{
    _cleanup_json_ json_t *job = json_pack("{s:s, s:[s], s:s, s:i, s:o}", "name", m->name, "flags",
                                           "EXTERNAL_JOB", "current_working_directory", "/tmp",
                                           "tasks_per_node", 1, "admin_comment", make_comment(m));
    int r = job ? 0 : -ENOMEM;

    if (r == 0 && m->partition)
        r = set_new(job, "partition", json_string(m->partition));
    if (r == 0 && m->mcs)
        r = set_new(job, "mcs_label", json_string(m->mcs));
    if (r == 0 && m->excluded && *m->excluded)
        r = set_new(job, "excluded_nodes", json_pack("[s]", m->excluded));
    if (r == 0)
        r = set_wants(job, m, err);
    if (r == 0)
        r = set_nodes(job, m, err);
    if (r == 0 && json_array_size(m->rules) == 0)
        r = set_identity(job, m, err);
    if (r == 0)
        r = set_class(job, m);
    if (r == 0 && m->deadline_s > 0)
        r = set_new(job, "time_limit", number_of(MIN((m->deadline_s - 1) / 60 + 1, INT32_MAX)));
    if (r == 0)
        r = set_notes(job, m->root, err);
    if (r == 0)
        r = podidentity_set(m->rules, m->pods, m->root, job, err);
    if (r < 0)
        return r == -ENOMEM ? err_nomem(err) : r;
    *ret = json_pack("{s:O}", "job", job);
    return *ret ? 0 : err_nomem(err);
}

json_t *jobmake_read_comment(const char *comment, const char *bridge)
{
    _cleanup_json_ json_t *object = json_loads(comment, 0, NULL);
    size_t i;
    json_t *uid;

    if (!*kubejson_text(object, "gang") || !json_is_integer(json_object_get(object, "attempt")) ||
        json_array_size(json_object_get(object, "uids")) == 0 ||
        strcmp(kubejson_text(object, "bridge"), bridge) != 0)
        return NULL;
    json_array_foreach(json_object_get(object, "uids"), i,
                       uid) if (!json_is_string(uid)) return NULL;
    return TAKE_PTR(object);
}
