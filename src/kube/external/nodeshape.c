/* nodeshape.c - see nodeshape.h */
#include "kube/external/nodeshape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubequantity.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/devnode.h"

#define NAME_MOST 253u
#define FEATURES_MOST 4096u
#define CPUS_MOST 65535

const char *nodeshape_name(const json_t *node)
{
    const char *label = kubejson_label(node, BRIDGE_LABEL_NODE);

    return label && *label ? label : kubejson_name(node);
}

void nodeshape_write_mark(const char *bridge, char ret[static NODESHAPE_MARK_SIZE])
{
    (void)snprintf(ret, NODESHAPE_MARK_SIZE, NODESHAPE_MARK "%s%.40s", *bridge ? "-" : "", bridge);
}

bool nodeshape_is_wanted(const json_t *node)
{
    return node && !kubejson_is_deleted(node) && kubejson_label(node, BRIDGE_LABEL_EXTERNAL);
}

static bool is_same(const json_t *a, const json_t *b)
{
    return a == b || (a && b && json_equal(a, b));
}

bool nodeshape_changes(const json_t *before, const json_t *now)
{
    static const char *const paths[] = { "metadata.labels", "metadata.annotations",
                                         "metadata.deletionTimestamp", "status.capacity",
                                         "spec.unschedulable" };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (!is_same(kubejson_at(before, paths[i]), kubejson_at(now, paths[i])))
            return true;
    return !before || !now;
}

bool nodeshape_is_word(const char *text, size_t n)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

    if (n == 0 || n > NAME_MOST || *text == '.' || *text == '-')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!text[i] || !strchr(chars, text[i]))
            return false;
    return true;
}

/* Is the word one of the list? */
static bool has_word(const char *list, const char *word, size_t n)
{
    for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
        if (strcspn(list, ",") == n && memcmp(list, word, n) == 0)
            return true;
    return false;
}

static int read_features(const char *text, const char *mark, struct strbuf *out, struct err *err)
{
    strbuf_add(out, mark);
    if (strlen(text) > FEATURES_MOST)
        return err_set(err, -EINVAL, BRIDGE_NOTE_PARTITIONS ": more than %u characters",
                       FEATURES_MOST);
    while (*text) {
        size_t n = strcspn(text, ","), blanks = strspn(text, " \t");
        size_t len = n;

        while (len > blanks && (text[len - 1] == ' ' || text[len - 1] == '\t'))
            len--;
        if (len > blanks && !nodeshape_is_word(text + blanks, len - blanks))
            return err_set(err, -EINVAL, BRIDGE_NOTE_PARTITIONS ": '%.*s' is no name",
                           (int)MIN(len - blanks, 60u), text + blanks);
        if (len > blanks && !has_word(strbuf_str(out), text + blanks, len - blanks)) {
            strbuf_addc(out, ',');
            strbuf_addn(out, text + blanks, len - blanks);
        }
        text += n + (text[n] == ',');
    }
    return out->failed ? err_nomem(err) : 0;
}

/* TOPOLOGY:UNIT,TOPOLOGY:UNIT: words that end neither the value nor the line. */
static bool is_topology(const char *text)
{
    static const char chars[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:,";

    return strlen(text) <= FEATURES_MOST && text[strspn(text, chars)] == '\0';
}

/* CPUs and GPUs as their drivers tell them; a driver that is not there tells nothing. */
static int read_slices(const json_t *slices, struct nodeshape *s, struct err *err)
{
    _cleanup_json_ json_t *cores = devnode_cores(slices);
    size_t threads = 0, total = 0, i;
    json_t *core;

    if (!cores)
        return err_nomem(err);
    json_array_foreach(cores, i, core)
    {
        threads = MAX(threads, json_array_size(core));
        total += json_array_size(core);
    }
    if (total) {
        if (total != threads * json_array_size(cores))
            return err_set(err, -EINVAL, "its cores have not all as many threads");
        s->cpus = (int64_t)total;
        s->threads = (int64_t)threads;
    }
    devnode_write_gres(slices, &s->gres);
    return s->gres.failed ? err_nomem(err) : 0;
}

int nodeshape_read(const json_t *node, const json_t *slices, const char *mark,
                   struct nodeshape *ret, struct err *err)
{
    const json_t *capacity = kubejson_at(node, "status.capacity");
    const char *name = nodeshape_name(node);
    const char *partitions = kubejson_annotation(node, BRIDGE_NOTE_PARTITIONS);
    const char *topology = kubejson_annotation(node, BRIDGE_NOTE_TOPOLOGY);
    struct nodeshape s = NODESHAPE_INIT;
    int64_t cpu, memory;
    int r;

    if (!nodeshape_is_word(name, strlen(name)))
        return err_set(err, -EINVAL, "'%.60s' is no name of a node in Slurm", name);
    if (kubequantity_read(json_object_get(capacity, "cpu"), &cpu) < 0 ||
        kubequantity_read(json_object_get(capacity, "memory"), &memory) < 0)
        return err_set(err, -EINVAL, "status.capacity has no cpu and memory");
    s.cpus = cpu / 1000;
    s.memory_mib = memory / 1000 >> 20;
    r = read_slices(slices, &s, err);
    if (r == 0 && (s.cpus < 1 || s.cpus > CPUS_MOST || s.memory_mib < 1))
        r = err_set(err, -EINVAL, "status.capacity: %lld CPUs and %lld MiB are no node",
                    (long long)s.cpus, (long long)s.memory_mib);
    s.cordoned = kubejson_true(node, "spec.unschedulable");
    s.node = kubejson_name(node);
    s.topology = topology ? topology : "";
    if (r == 0 && !is_topology(s.topology))
        r = err_set(err, -EINVAL, BRIDGE_NOTE_TOPOLOGY ": '%.60s' is no place", s.topology);
    if (r == 0)
        r = read_features(partitions ? partitions : "", mark, &s.features, err);
    if (r < 0)
        nodeshape_done(&s);
    else
        *ret = s;
    return r;
}

void nodeshape_done(struct nodeshape *s)
{
    strbuf_done(&s->features);
    strbuf_done(&s->gres);
}

/* ---- what there is --------------------------------------------------------------------------- */

static bool has_item(const json_t *list, const char *word, size_t n)
{
    const json_t *one;

    for (size_t i = 0; (one = json_array_get(list, i)); i++)
        if (json_is_string(one) && json_string_length(one) == n &&
            memcmp(json_string_value(one), word, n) == 0)
            return true;
    return false;
}

static bool has_state(const json_t *have, const char *word)
{
    return has_item(json_object_get(have, "state"), word, strlen(word));
}

/* Is a node as slurmrestd writes it one that the bridge made? */
static bool nodeshape_is_ours(const json_t *have, const char *mark)
{
    return has_state(have, "EXTERNAL") &&
           has_item(json_object_get(have, "features"), mark, strlen(mark));
}

static bool has_features(const json_t *have, const char *features)
{
    const json_t *list = json_object_get(have, "features");
    size_t count = 0;

    for (const char *at = features; *at; count++) {
        size_t n = strcspn(at, ",");

        if (!has_item(list, at, n))
            return false;
        at += n + (at[n] == ',');
    }
    return count == json_array_size(list);
}

static enum nodeshape_act remove_node(const json_t *have)
{
    if (!has_state(have, "DRAIN") || has_state(have, "UNDRAIN"))
        return NODESHAPE_DRAIN;
    if (has_state(have, "ALLOCATED") || has_state(have, "MIXED") || has_state(have, "COMPLETING"))
        return NODESHAPE_WAIT;
    return NODESHAPE_DELETE;
}

/* A cordoned node is drained; a drain of ours that nothing asks for any more is undone, and an
 * administrator's stays. */
static enum nodeshape_act see_drain(const struct nodeshape *want, const json_t *have)
{
    bool drains = has_state(have, "DRAIN") && !has_state(have, "UNDRAIN");
    const char *reason = kubejson_text(have, "reason");
    bool ours = strncmp(reason, NODESHAPE_OURS, strlen(NODESHAPE_OURS)) == 0;

    if (want->cordoned)
        return drains && strcmp(reason, NODESHAPE_REASON) != 0 ? NODESHAPE_NOTHING
                                                               : NODESHAPE_CORDON;
    return drains && ours ? NODESHAPE_RESUME : NODESHAPE_NOTHING;
}

enum nodeshape_act nodeshape_decide(const struct nodeshape *want, const json_t *have,
                                    const char *mark)
{
    if (!have)
        return want ? NODESHAPE_CREATE : NODESHAPE_NOTHING;
    if (!nodeshape_is_ours(have, mark))
        return NODESHAPE_NOTHING;
    if (!want || kubejson_int(have, "cpus", 0) != want->cpus ||
        kubejson_int(have, "real_memory", 0) != want->memory_mib ||
        (want->threads && kubejson_int(have, "threads", 0) != want->threads) ||
        (want->gres.len && strcmp(kubejson_text(have, "gres"), strbuf_str(&want->gres)) != 0))
        return remove_node(have);
    if (!has_features(have, strbuf_str(&want->features)))
        return NODESHAPE_CHANGE;
    if (*want->topology && strcmp(kubejson_text(have, "topology"), want->topology) != 0)
        return NODESHAPE_TOPOLOGY;
    return see_drain(want, have);
}

json_t *nodeshape_body(enum nodeshape_act act, const char *name, const struct nodeshape *want)
{
    _cleanup_val_(strbuf_done) struct strbuf line = STRBUF_INIT;
    int64_t threads = want && want->threads ? want->threads : 1;

    switch (act) {
    case NODESHAPE_CREATE:
        strbuf_addf(&line,
                    "NodeName=%s Sockets=1 CoresPerSocket=%lld ThreadsPerCore=%lld CPUs=%lld "
                    "RealMemory=%lld State=EXTERNAL Feature=%s",
                    name, (long long)(want->cpus / threads), (long long)threads,
                    (long long)want->cpus, (long long)want->memory_mib,
                    strbuf_str(&want->features));
        if (want->gres.len)
            strbuf_addf(&line, " Gres=%s", strbuf_str(&want->gres));
        if (*want->topology)
            strbuf_addf(&line, " Topology=%s", want->topology);
        return line.failed ? NULL : json_pack("{s:s}", "node_conf", strbuf_str(&line));
    case NODESHAPE_CHANGE:
        return json_pack("{s:s, s:s}", "features", strbuf_str(&want->features), "features_act",
                         strbuf_str(&want->features));
    case NODESHAPE_TOPOLOGY:
        return json_pack("{s:s}", "topology_str", want->topology);
    case NODESHAPE_CORDON:
        strbuf_addf(&line,
                    NODESHAPE_OURS " Corresponding Kubernetes node (%.200s) is unschedulable",
                    want->node);
        return line.failed
                   ? NULL
                   : json_pack("{s:[s], s:s}", "state", "DRAIN", "reason", strbuf_str(&line));
    case NODESHAPE_RESUME:
        return json_pack("{s:[s], s:s}", "state", "RESUME", "reason", "");
    case NODESHAPE_DRAIN:
        return json_pack("{s:[s], s:s}", "state", "DRAIN", "reason", NODESHAPE_REASON);
    case NODESHAPE_NOTHING:
    case NODESHAPE_WAIT:
    case NODESHAPE_DELETE:
        break;
    }
    return NULL;
}
