/* licenseuse.c - the licences of the cluster and who holds them; see licenseuse.h */
#include "cli/format/licenseuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gres/licensetext.h"
#include "base/timefmt.h"
#include "cli/format/out_resv.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "conf/conf.h"
#include "wire/ops.h"

static int add_license(struct licenses *l, const char *name, size_t len, struct license one)
{
    struct license *more = reallocarray(l->list, l->n + 1, sizeof(*more));

    if (!more)
        return -ENOMEM;
    l->list = more;
    one.name = strndup(name, len);
    if (!one.name || asprintf(&one.key, one.nodes ? "%s(%s)" : "%s", one.name, one.nodes) < 0) {
        free(one.name);
        return -ENOMEM;
    }
    one.at = l->n;
    l->list[l->n++] = one;
    return 0;
}

static int load_totals(struct licenses *l, const char *list)
{
    struct license_text one;
    int r = 0;

    while (list && r == 0 && license_text_next(&list, &one))
        r = add_license(l, one.name, one.name_len,
                        (struct license){ .total = license_text_count(&one) });
    return r;
}

static int add_layer(struct licenses *l, const Pst__ResourceLayer *one)
{
    const char *name = one->resource ? one->resource : "", *nodes = one->nodes ? one->nodes : "";
    struct license layer = { .total = one->total, .mode = one->mode };
    int r;

    layer.nodes = strdup(nodes);
    r = layer.nodes ? add_license(l, name, strlen(name), layer) : -ENOMEM;
    if (r < 0)
        free(layer.nodes);
    return r;
}

/* Layers stand by resource, as the file has them. */
static int add_layers(struct licenses *l, const Pst__ConfigReply *reply)
{
    int r = 0;

    for (size_t end = reply->n_layers, at; r >= 0 && end; end = at) {
        const char *name = reply->layers[end - 1]->resource ? reply->layers[end - 1]->resource : "";

        at = end - 1;
        while (at && reply->layers[at - 1]->resource &&
               strcmp(reply->layers[at - 1]->resource, name) == 0)
            at--;
        for (size_t i = at; r >= 0 && i < end; i++)
            r = add_layer(l, reply->layers[i]);
    }
    return r;
}

/* What the controller alone knows: licences of other servers, and resources with layers. */
static int load_others(struct client *c, struct licenses *l)
{
    Pst__Empty request = PST__EMPTY__INIT;
    Pst__ConfigReply *reply = NULL;
    int r = client_call(c, OP_QUERY_CONFIG, &request.base, (ProtobufCMessage **)&reply);

    for (size_t i = 0; r >= 0 && i < reply->n_remote_licenses; i++) {
        const Pst__RemoteLicense *one = reply->remote_licenses[i];
        const char *name = one->name ? one->name : "";

        r = add_license(l, name, strlen(name),
                        (struct license){ .total = one->total,
                                          .remote = true,
                                          .last_consumed = one->last_consumed,
                                          .deficit = one->deficit,
                                          .update_us = one->update_us });
    }
    if (r >= 0)
        r = add_layers(l, reply);
    if (reply)
        pst__config_reply__free_unpacked(reply, NULL);
    return r;
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(struct license *const *)a)->key, (*(struct license *const *)b)->key);
}

static int compare_key(const void *item, const void *entry)
{
    const struct license_text *one = item;
    const char *key = (*(struct license *const *)entry)->key;
    int r = strncmp(one->name, key, one->full_len);

    return r ? r : -(key[one->full_len] != '\0');
}

struct usage {
    struct license **sorted;
    size_t n;
};

static struct license *find_license(const struct usage *u, const struct license_text *one)
{
    struct license **at = bsearch(one, u->sorted, u->n, sizeof(*u->sorted), compare_key);

    return at ? *at : NULL;
}

/* Layers are counted where all that are charged stand. */
static void add_used(const struct usage *u, const char *list, bool layers)
{
    struct license_text one;

    while (list && license_text_next(&list, &one)) {
        struct license *l = find_license(u, &one);

        if (l && (l->nodes != NULL) == layers)
            l->used += license_text_count(&one);
    }
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__JobRecord *r = (const Pst__JobRecord *)record;

    (void)info;
    add_used(ctx, r->licenses_alloc, false);
    add_used(ctx, r->layers_alloc, true);
    return 0;
}

static int load_used(struct client *c, struct licenses *l)
{
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    Pst__QueryRequest request = query_to_print();
    struct pb_fieldset set = { 0 };
    struct query_info info = { 0 };
    struct usage u = { calloc(l->n + 1, sizeof(struct license *)), l->n };
    int r;

    if (!u.sorted)
        return -ENOMEM;
    for (size_t i = 0; i < l->n; i++)
        u.sorted[i] = &l->list[i];
    qsort(u.sorted, u.n, sizeof(struct license *), by_key);
    filter_add_number(&filter.states, &filter.n_states, PST__JOB_STATE__JOB_RUNNING);
    filter_add_number(&filter.states, &filter.n_states, PST__JOB_STATE__JOB_SUSPENDED);
    query_need_names("licenses_alloc layers_alloc", &pst__job_record__descriptor, &set);
    r = query_fields(&set, &request.fields, &request.n_fields);
    request.jobs = &filter;
    if (r >= 0)
        r = query_run(c, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, on_job, &u,
                      &info);
    free(u.sorted);
    free(request.fields);
    filter_done(&filter);
    l->now_us = info.now_us;
    return r;
}

/* Is it what reservations keep that name the resource alone: the first, in mode 3 the last? */
static bool is_default(const struct licenses *l, size_t i)
{
    size_t other = l->list[i].mode == 3 ? i + 1 : i - 1;

    return other >= l->n || !l->list[other].nodes ||
           strcmp(l->list[other].name, l->list[i].name) != 0;
}

static uint64_t count_reserved(const Pst__ResvSet *set, const struct licenses *l, size_t i)
{
    const struct license *lic = &l->list[i];
    struct license_text one;
    uint64_t sum = 0;

    for (size_t k = 0; k < set->n_items; k++) {
        const char *p = resv_keeps(set->items[k], set->now_us);

        while (p && license_text_next(&p, &one))
            if ((strlen(lic->key) == one.full_len &&
                 strncmp(lic->key, one.name, one.full_len) == 0) ||
                (lic->nodes && one.full_len == one.name_len &&
                 license_text_named(&one, lic->name) && is_default(l, i)))
                sum += license_text_count(&one);
    }
    return sum;
}

static int load_reserved(struct client *c, struct licenses *l)
{
    Pst__ResvSet *set = NULL;
    int r = resv_load(c, &set);

    for (size_t i = 0; r >= 0 && i < l->n; i++)
        l->list[i].reserved = count_reserved(set, l, i);
    if (r >= 0)
        pst__resv_set__free_unpacked(set, NULL);
    return r;
}

int licenses_load(struct client *c, const struct conf *conf, struct licenses *ret)
{
    int r = load_totals(ret, conf_str(conf, CONF_LICENSES));

    ret->now_us = now_us();
    if (r >= 0)
        r = load_others(c, ret);
    if (ret->n && r >= 0)
        r = load_used(c, ret);
    if (ret->n && r >= 0)
        r = load_reserved(c, ret);
    return r;
}

void licenses_done(struct licenses *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->list[i].name);
        free(l->list[i].nodes);
        free(l->list[i].key);
    }
    free(l->list);
    *l = (struct licenses){ 0 };
}

uint64_t license_free(const struct license *l)
{
    uint64_t gone = l->used + l->deficit;

    return l->total > gone ? l->total - gone : 0;
}

void license_json(struct json *js, const struct license *l)
{
    json_map(js, NULL);
    json_str(js, "LicenseName", l->name);
    json_int(js, "Total", (int64_t)l->total);
    json_int(js, "Used", (int64_t)l->used);
    json_int(js, "Free", (int64_t)license_free(l));
    json_bool(js, "Remote", l->remote);
    json_int(js, "Reserved", (int64_t)l->reserved);
    json_int(js, "LastConsumed", (int64_t)l->last_consumed);
    json_int(js, "LastDeficit", (int64_t)l->deficit);
    json_int(js, "LastUpdate", l->update_us / USEC_PER_SEC);
    json_str(js, "Nodes", l->nodes ? l->nodes : "");
    json_map_end(js);
}
