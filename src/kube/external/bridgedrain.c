/* bridgedrain.c - see bridgedrain.h */
#include "kube/external/bridgedrain.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "kube/api/kubejson.h"

#define SHOWN 3u        /* nodes of a sentence */
#define REASON_MOST 100 /* bytes of a reason there */

static bool is_drained(const json_t *have)
{
    const json_t *state = json_object_get(have, "state");

    return kubejson_has_text(state, "DRAIN") && !kubejson_has_text(state, "UNDRAIN");
}

static bool has_jobs(const json_t *have)
{
    const json_t *state = json_object_get(have, "state");

    return kubejson_has_text(state, "ALLOCATED") || kubejson_has_text(state, "MIXED");
}

bool bridgedrain_note(json_t *drains, const char *name, const json_t *have, struct strbuf *out)
{
    const json_t *old = json_object_get(drains, name);
    const json_t *was = json_object_get(old, "partitions");
    const json_t *partitions = json_object_get(have, "partitions");
    const char *reason = kubejson_text(have, "reason");
    bool news = !old || strcmp(kubejson_text(old, "reason"), reason) != 0;

    if (!have || !is_drained(have)) {
        if (!old)
            return false;
        if (have)
            strbuf_addf(out, "Slurm node %s is not drained any more", name);
        return json_object_del(drains, name) == 0;
    }
    if (!news && (was == partitions || json_equal(was, partitions)))
        return false;
    if (news)
        strbuf_addf(out, "Slurm node %s is drained: %.300s%s", name,
                    *reason ? reason : "no reason is given",
                    has_jobs(have) ? "; jobs that are there run on" : "");
    return json_object_set_new(
               drains, name,
               json_pack("{s:s, s:O*}", "reason", reason, "partitions", partitions)) == 0;
}

bool bridgedrain_keep(json_t *drains, const json_t *seen)
{
    bool lost = false;
    const char *name;
    void *next;
    json_t *one;

    json_object_foreach_safe(drains, next, name, one)
    {
        if (!json_object_get(seen, name))
            lost = json_object_del(drains, name) == 0 || lost;
    }
    return lost;
}

/* Has the node one of the partitions?  What is not known is no reason to leave it out. */
static bool is_in_partition(const json_t *drain, const char *partitions)
{
    const json_t *list = json_object_get(drain, "partitions");

    if (!*partitions || !json_is_array(list))
        return true;
    while (*partitions) {
        size_t n = strcspn(partitions, ",");
        _cleanup_free_ char *one = strndup(partitions, n);

        if (!one || kubejson_has_text(list, one))
            return true;
        partitions += n + (partitions[n] == ',');
    }
    return false;
}

void bridgedrain_write(const json_t *drains, const char *excluded, const char *partitions,
                       struct strbuf *out)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    size_t n = 0;
    const char *name;
    json_t *one;

    if (!json_object_size(drains) || (*excluded && hostlist_parse(excluded, &hl, NULL) < 0))
        return;
    json_object_foreach((json_t *)(uintptr_t)drains, name, one)
    {
        const char *reason = kubejson_text(one, "reason");

        if ((hl && hostlist_find(hl, name) >= 0) || !is_in_partition(one, partitions))
            continue;
        if (n < SHOWN)
            strbuf_addf(out, "%s%s", n ? ", " : "; drained in Slurm: ", name);
        if (n < SHOWN && *reason)
            strbuf_addf(out, " (%.*s)", REASON_MOST, reason);
        n++;
    }
    if (n > SHOWN)
        strbuf_addf(out, " and %zu more", n - SHOWN);
}
