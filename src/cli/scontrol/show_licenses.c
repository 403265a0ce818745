/* show_licenses.c - scontrol show licenses
 *
 * Totals come from slurm.conf and, of licences that another server has, from the controller;
 * what is in use from the jobs that hold nodes: the sum of what they hold.  Text is in the order
 * of names, JSON in that of the configuration.  One thread. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/fmt_core.h"
#include "cli/format/out_resv.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "cli/scontrol/scontrol.h"
#include "wire/ops.h"

struct license {
    char *name;
    uint64_t total, used, reserved;
    bool remote;
    uint64_t last_consumed, deficit;
    int64_t update_us;
};

struct licenses {
    struct license *list;
    size_t n;
};

/* The next "name[:|=|@...]count" of a list; false at its end.  The name is copied. */
static bool next_license(const char **list, char **ret_name, uint64_t *ret_count)
{
    const char *p = *list + strspn(*list, ",;|");
    size_t len = strcspn(p, ",;|"), name_len = strcspn(p, ":=,;|");
    _cleanup_free_ char *count = NULL;

    if (!*p)
        return false;
    *ret_name = xasprintf_or_die("%.*s", (int)name_len, p);
    count = xasprintf_or_die("%.*s", (int)(name_len < len ? len - name_len - 1 : 0),
                             name_len < len ? p + name_len + 1 : "");
    if (parse_u64(count, 0, UINT32_MAX, ret_count) < 0)
        *ret_count = 1;
    *list = p + len;
    return true;
}

static void load_totals(struct licenses *l, const char *list)
{
    char *name;
    uint64_t count;

    while (list && next_license(&list, &name, &count)) {
        l->list = xrealloc_or_die(l->list, l->n + 1, sizeof(*l->list));
        l->list[l->n++] = (struct license){ .name = name, .total = count };
    }
}

static int load_remote(struct scontrol *s, struct licenses *l)
{
    Pst__Empty request = PST__EMPTY__INIT;
    Pst__ConfigReply *reply = NULL;
    int r = client_call(scontrol_client(s, "slurm_load_licenses"), OP_QUERY_CONFIG, &request.base,
                        (ProtobufCMessage **)&reply);

    for (size_t i = 0; r >= 0 && i < reply->n_remote_licenses; i++) {
        const Pst__RemoteLicense *one = reply->remote_licenses[i];

        l->list = xrealloc_or_die(l->list, l->n + 1, sizeof(*l->list));
        l->list[l->n++] = (struct license){ .name = xstrdup_or_die(one->name),
                                            .total = one->total,
                                            .remote = true,
                                            .last_consumed = one->last_consumed,
                                            .deficit = one->deficit,
                                            .update_us = one->update_us };
    }
    if (r >= 0)
        pst__config_reply__free_unpacked(reply, NULL);
    return r;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct licenses *l = ctx;
    const char *list = ((const Pst__JobRecord *)record)->licenses_alloc;
    char *name;
    uint64_t count;

    (void)info;
    while (list && next_license(&list, &name, &count)) {
        for (size_t i = 0; i < l->n; i++)
            if (strcmp(l->list[i].name, name) == 0)
                l->list[i].used += count;
        free(name);
    }
    return 0;
}

static int load_used(struct scontrol *s, struct licenses *l, int64_t *ret_now_us)
{
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    Pst__QueryRequest request = query_to_print();
    struct pb_fieldset set = { 0 };
    struct query_info info = { 0 };
    int r;

    filter_add_number(&filter.states, &filter.n_states, PST__JOB_STATE__JOB_RUNNING);
    filter_add_number(&filter.states, &filter.n_states, PST__JOB_STATE__JOB_SUSPENDED);
    query_need_names("licenses_alloc", &pst__job_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    request.jobs = &filter;
    r = query_run(scontrol_client(s, "slurm_load_licenses"), OP_QUERY_JOBS, &request.base,
                  &pst__job_record__descriptor, on_job, l, &info);
    free(request.fields);
    filter_done(&filter);
    *ret_now_us = info.now_us;
    return r;
}

static int load_reserved(struct scontrol *s, struct licenses *l)
{
    Pst__ResvSet *set = NULL;
    int r = resv_load(scontrol_client(s, "slurm_load_licenses"), &set);

    for (size_t i = 0; r >= 0 && i < l->n; i++)
        l->list[i].reserved = resv_license_count(set, l->list[i].name);
    if (r >= 0)
        pst__resv_set__free_unpacked(set, NULL);
    return r;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct license *)a)->name, ((const struct license *)b)->name);
}

static uint64_t count_left(const struct license *l)
{
    uint64_t gone = l->used + l->deficit;

    return l->total > gone ? l->total - gone : 0;
}

/* All of them, whatever name was asked for. */
static void print_json(struct scontrol *s, const struct licenses *l, int64_t updated_us)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct conf *conf = cli_conf(&s->cli);
    struct json js;

    json_begin(&js, &out, json_option_style(&s->json));
    js.plain_null = s->json.complex;
    json_list(&js, "licenses");
    for (size_t i = 0; i < l->n; i++) {
        const struct license *lic = &l->list[i];

        json_map(&js, NULL);
        json_str(&js, "LicenseName", lic->name);
        json_int(&js, "Total", (int64_t)lic->total);
        json_int(&js, "Used", (int64_t)lic->used);
        json_int(&js, "Free", (int64_t)count_left(lic));
        json_bool(&js, "Remote", lic->remote);
        json_int(&js, "Reserved", (int64_t)lic->reserved);
        json_int(&js, "LastConsumed", (int64_t)lic->last_consumed);
        json_int(&js, "LastDeficit", (int64_t)lic->deficit);
        json_int(&js, "LastUpdate", lic->update_us / USEC_PER_SEC);
        json_str(&js, "Nodes", "");
        json_map_end(&js);
    }
    json_list_end(&js);
    json_time(&js, "last_update", updated_us);
    json_meta(&js, s->argc, s->argv, conf_str(conf, CONF_CLUSTER_NAME),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&js);
    (void)fputs(strbuf_str(&out), stdout);
}

static void print_text(struct scontrol *s, struct licenses *l, const char *name)
{
    const char *next = s->show.oneliner ? " " : "\n    ";
    bool any = false;

    if (l->n)
        qsort(l->list, l->n, sizeof(*l->list), by_name);
    for (size_t i = 0; i < l->n; i++) {
        const struct license *lic = &l->list[i];

        if (name && strcmp(lic->name, name) != 0)
            continue;
        any = true;
        (void)printf("LicenseName=%s%sTotal=%llu Used=%llu Free=%llu Reserved=%llu Remote=%s",
                     lic->name, next, (unsigned long long)lic->total, (unsigned long long)lic->used,
                     (unsigned long long)count_left(lic), (unsigned long long)lic->reserved,
                     lic->remote ? "yes" : "no");
        if (lic->remote) {
            char when[64];

            time_fmt_stamp(lic->update_us, "Unknown", now_us(), when, sizeof(when));
            (void)printf("%sLastConsumed=%llu LastDeficit=%llu LastUpdate=%s", next,
                         (unsigned long long)lic->last_consumed, (unsigned long long)lic->deficit,
                         when);
        }
        (void)printf("\n");
    }
    if (!any && name)
        scontrol_fail(s, "scontrol: error: query \"%s\" matched zero licenses.", name);
    else if (!any && !s->quiet)
        (void)printf("No licenses configured in Slurm.\n");
}

void scontrol_show_licenses(struct scontrol *s, const char *name)
{
    struct licenses l = { 0 };
    int64_t updated_us = now_us();
    int r;

    load_totals(&l, conf_str(cli_conf(&s->cli), CONF_LICENSES));
    r = load_remote(s, &l);
    if (l.n && r >= 0)
        r = load_used(s, &l, &updated_us);
    if (l.n && r >= 0)
        r = load_reserved(s, &l);
    if (r < 0)
        scontrol_fail(s, "slurm_load_licenses error: %s", client_strerror(s->client, r));
    else if (s->json.wanted)
        print_json(s, &l, updated_us);
    else
        print_text(s, &l, name);
    for (size_t i = 0; i < l.n; i++)
        free(l.list[i].name);
    free(l.list);
}
