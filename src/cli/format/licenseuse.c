/* licenseuse.c - the licences of the cluster and who holds them; see licenseuse.h */
#include "cli/format/licenseuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/out_resv.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "conf/conf.h"
#include "wire/ops.h"

/* The next "name[:|=|@...]count" of a list; false at its end.  The name is borrowed, *ret_len
 * long. */
static bool next_license(const char **list, const char **ret_name, size_t *ret_len,
                         uint64_t *ret_count)
{
    const char *p = *list + strspn(*list, ",;|");
    size_t len = strcspn(p, ",;|"), name_len = strcspn(p, ":=,;|");
    char count[32] = "";

    if (!*p)
        return false;
    if (name_len < len && len - name_len - 1 < sizeof(count))
        memcpy(count, p + name_len + 1, len - name_len - 1);
    if (parse_u64(count, 0, UINT32_MAX, ret_count) < 0)
        *ret_count = 1;
    *ret_name = p;
    *ret_len = name_len;
    *list = p + len;
    return true;
}

static int add_license(struct licenses *l, const char *name, size_t len, struct license one)
{
    struct license *more = reallocarray(l->list, l->n + 1, sizeof(*more));

    if (!more)
        return -ENOMEM;
    l->list = more;
    one.name = strndup(name, len);
    if (!one.name)
        return -ENOMEM;
    l->list[l->n++] = one;
    return 0;
}

static int load_totals(struct licenses *l, const char *list)
{
    const char *name;
    uint64_t count;
    size_t len;
    int r = 0;

    while (list && r == 0 && next_license(&list, &name, &len, &count))
        r = add_license(l, name, len, (struct license){ .total = count });
    return r;
}

static int load_remote(struct client *c, struct licenses *l)
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
    if (reply)
        pst__config_reply__free_unpacked(reply, NULL);
    return r;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct licenses *l = ctx;
    const char *list = ((const Pst__JobRecord *)record)->licenses_alloc, *name;
    uint64_t count;
    size_t len;

    (void)info;
    while (list && next_license(&list, &name, &len, &count))
        for (size_t i = 0; i < l->n; i++)
            if (strlen(l->list[i].name) == len && memcmp(l->list[i].name, name, len) == 0)
                l->list[i].used += count;
    return 0;
}

static int load_used(struct client *c, struct licenses *l)
{
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    Pst__QueryRequest request = query_to_print();
    struct pb_fieldset set = { 0 };
    struct query_info info = { 0 };
    int r;

    filter_add_number(&filter.states, &filter.n_states, PST__JOB_STATE__JOB_RUNNING);
    filter_add_number(&filter.states, &filter.n_states, PST__JOB_STATE__JOB_SUSPENDED);
    query_need_names("licenses_alloc", &pst__job_record__descriptor, &set);
    r = query_fields(&set, &request.fields, &request.n_fields);
    request.jobs = &filter;
    if (r >= 0)
        r = query_run(c, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, on_job, l,
                      &info);
    free(request.fields);
    filter_done(&filter);
    l->now_us = info.now_us;
    return r;
}

static int load_reserved(struct client *c, struct licenses *l)
{
    Pst__ResvSet *set = NULL;
    int r = resv_load(c, &set);

    for (size_t i = 0; r >= 0 && i < l->n; i++)
        l->list[i].reserved = resv_license_count(set, l->list[i].name);
    if (r >= 0)
        pst__resv_set__free_unpacked(set, NULL);
    return r;
}

int licenses_load(struct client *c, const struct conf *conf, struct licenses *ret)
{
    int r = load_totals(ret, conf_str(conf, CONF_LICENSES));

    ret->now_us = now_us();
    if (r >= 0)
        r = load_remote(c, ret);
    if (ret->n && r >= 0)
        r = load_used(c, ret);
    if (ret->n && r >= 0)
        r = load_reserved(c, ret);
    return r;
}

void licenses_done(struct licenses *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->list[i].name);
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
    json_str(js, "Nodes", "");
    json_map_end(js);
}
