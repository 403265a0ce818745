/* op_config.c - op query-config: the configuration as scontrol show config prints it; see
 * op_config.h */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/update/op_admin.h"
#include "ctld/update/op_config.h"
#include "base/must.h"
#include "conf/layers/resources.h"
#include "ctld/job/jobfacts.h"
#include "ctld/schedlink/licenses.h"
#include "ctld/policy/fedset.h"

struct rows {
    struct ctld *ctld;
    Pst__KeyValue **list;
    size_t n;
};

static void add_row(void *ctx, const char *key, const char *value)
{
    struct rows *rows = ctx;
    Pst__KeyValue *kv = malloc(sizeof(*kv)), **bigger;
    char text[64];

    if (value == conf_show_caller) {
        if (strcmp(key, "BOOT_TIME") == 0)
            time_fmt_stamp(rows->ctld->boot_us, "N/A", core_now(), text, sizeof(text));
        else if (strcmp(key, "NEXT_JOB_ID") == 0)
            (void)snprintf(text, sizeof(text), "%u", jobs_fresh_id(rows->ctld) & FED_LOCAL_MASK);
        else
            (void)snprintf(text, sizeof(text), "Match");
        value = text;
    }
    value = tuning_value(rows->ctld, key, value);
    bigger = realloc(rows->list, (rows->n + 1) * sizeof(*bigger));
    if (bigger)
        rows->list = bigger;
    if (!kv || !bigger) {
        free(kv);
        return; /* a row less is shown */
    }
    pst__key_value__init(kv);
    kv->key = tx_strdup(key);
    kv->value = tx_strdup(value);
    rows->list[rows->n++] = kv;
}

static void rows_done(struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        pst__key_value__free_unpacked(rows->list[i], NULL);
    free(rows->list);
}

/* As many as memory is there for. */
static void remote_licenses(const struct ctld *ctld, Pst__ConfigReply *r)
{
    struct remote_license l;

    for (size_t pos = 0; licenses_next_remote(ctld, &pos, &l);) {
        Pst__RemoteLicense **more =
            realloc(r->remote_licenses, (r->n_remote_licenses + 1) * sizeof(*r->remote_licenses));
        Pst__RemoteLicense *one = malloc(sizeof(*one));

        r->remote_licenses = more ? more : r->remote_licenses;
        if (!more || !one) {
            free(one);
            return;
        }
        pst__remote_license__init(one);
        one->name = tx_strdup(l.name);
        SET(one, total, l.total);
        SET(one, deficit, l.deficit);
        SET(one, last_consumed, l.last_consumed);
        if (l.update_us)
            SET(one, update_us, l.update_us);
        r->remote_licenses[r->n_remote_licenses++] = one;
    }
}

/* Layers of resources.yaml. */
static void resource_layers(const struct ctld *ctld, Pst__ConfigReply *reply)
{
    for (size_t i = 0; ctld->resources && i < ctld->resources->n; i++) {
        const struct resource *r = &ctld->resources->list[i];

        reply->layers =
            must(realloc(reply->layers, (reply->n_layers + r->nlayers) * sizeof(*reply->layers)));
        for (size_t k = 0; k < r->nlayers; k++) {
            Pst__ResourceLayer *one = must(malloc(sizeof(*one)));

            pst__resource_layer__init(one);
            one->resource = tx_strdup(r->name);
            one->nodes = tx_strdup(r->layers[k].nodes);
            SET(one, mode, r->mode);
            SET(one, total, r->layers[k].total);
            reply->layers[reply->n_layers++] = one;
        }
    }
}

void op_config_told(struct ctld *ctld, void (*take)(void *ctx, const Pst__ConfigReply *r),
                    void *ctx)
{
    Pst__ConfigReply r = PST__CONFIG_REPLY__INIT;
    struct rows conf = { .ctld = ctld }, cgroup = { .ctld = ctld };

    conf_show(ctld->conf, add_row, &conf);
    conf_show_cgroup(ctld->conf, add_row, &cgroup);
    r.entries = conf.list;
    r.n_entries = conf.n;
    r.cgroup = cgroup.list;
    r.n_cgroup = cgroup.n;
    SET(&r, now_us, core_shown_now(ctld));
    SET(&r, next_job_id, jobs_fresh_id(ctld) & FED_LOCAL_MASK);
    SET(&r, boot_us, ctld->boot_us);
    r.conf_path = (char *)conf_path(ctld->conf); /* not changed by packing */
    remote_licenses(ctld, &r);
    resource_layers(ctld, &r);
    take(ctx, &r);
    for (size_t i = 0; i < r.n_remote_licenses; i++)
        pst__remote_license__free_unpacked(r.remote_licenses[i], NULL);
    free(r.remote_licenses);
    for (size_t i = 0; i < r.n_layers; i++)
        pst__resource_layer__free_unpacked(r.layers[i], NULL);
    free(r.layers);
    rows_done(&conf);
    rows_done(&cgroup);
}

struct asked {
    struct ctld *ctld;
    struct cmd *cmd;
};

static void reply_config(void *ctx, const Pst__ConfigReply *r)
{
    const struct asked *a = ctx;

    core_reply(a->ctld, a->cmd, 0, 0, &r->base);
}

static void op_query_config(struct ctld *ctld, struct cmd *cmd)
{
    struct asked asked = { ctld, cmd };

    op_config_told(ctld, reply_config, &asked);
}

static const struct ctld_op configops_ops[] = {
    { OP_QUERY_CONFIG, .fn = op_query_config, .flags = OPF_SHOWS },
    { 0 },
};

const struct ctld_service configops_service = { .name = "configops", .ops = configops_ops };
