/* core_util.h - the core of a controller in a test's own folder: its records, its log, and the
 * services that the test names; no threads but the log's, nothing that listens
 *
 * Needs ctld_dep. */
#pragma once

#include "model_util.h"
#include "conf_util.h"
#include "folder_util.h"

#include "base/log.h"
#include "ctld/core/commit.h"
#include "ctld/core/service.h"
#include "ctld/ctld.h"
#include "ctld/job/cleaning.h"
#include "ctld/link/nodelink.h"
#include "journal/journal.h"

extern const struct ctld_service schedfeed_service, imex_service;

struct core {
    struct ctld ctld;
    char dir[128];
    const struct ctld_service *services[64];
};

UTIL int core_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    (void)ctx, (void)lsn, (void)snapshot, (void)data, (void)len;
    return -EUCLEAN; /* the log is new */
}

UTIL bool core_names(const struct core *c, const char *service)
{
    for (size_t i = 0; i < ARRAY_SIZE(c->services) && c->services[i]; i++)
        if (strcmp(c->services[i]->name, service) == 0)
            return true;
    return false;
}

/* With the configuration in c->ctld.conf and the services of c->services. */
UTIL void core_open(struct core *c)
{
    struct err err = { .text = "" };
    struct journal_config config = { .dir = c->dir };

    log_set_level(LOG_QUIET);
    folder_make(c->dir, sizeof(c->dir), "core");
    c->ctld.cluster = new_cluster();
    assert_int_equal(journal_open(&config, core_record, NULL, &c->ctld.journal, &err), 0);
    assert_int_equal(journal_start(c->ctld.journal), 0);
    c->ctld.services = c->services;
    if (!core_names(c, "links")) /* a service that few tests name, and many others need */
        assert_int_equal(nodelinks_new(&c->ctld.links), 0);
    if (services_start(&c->ctld, &err) < 0)
        fail_msg("%s", err.text);
    if (!c->ctld.cleanings) /* of a service that few tests name, and many jobs need */
        assert_int_equal(cleanings_new(&c->ctld.cleanings), 0);
}

/* lines: of slurm.conf beside the least; more: a service beside those of the scheduler, or NULL. */
UTIL void core_begin(struct core *c, const char *lines, const struct ctld_service *more)
{
    *c = (struct core){ .services = { &schedfeed_service, &imex_service, more } };
    c->ctld.conf = conf_with_lines(lines);
    core_open(c);
}

UTIL void core_end(struct core *c)
{
    services_quiesce(&c->ctld);
    c->ctld.journal = journal_close(c->ctld.journal);
    services_stop(&c->ctld);
    services_free(&c->ctld);
    c->ctld.cleanings = cleanings_free(c->ctld.cleanings);
    c->ctld.links = nodelinks_free(c->ctld.links);
    c->ctld.cluster = cluster_free(c->ctld.cluster);
    c->ctld.conf = conf_free(c->ctld.conf);
    folder_remove(c->dir);
}

/* Nodes n0 .. and the partition p of all of them. */
UTIL void core_nodes(struct core *c, uint32_t n, uint32_t cpus)
{
    Pst__Transaction *tx;
    char list[32];

    add_nodes(c->ctld.cluster, n, cpus);
    tx = tx_new(T0);
    (void)snprintf(list, sizeof(list), n > 1 ? "n[0-%u]" : "n0", n - 1);
    (void)put_part(tx, "p", list);
    apply_ok(c->ctld.cluster, tx);
}

/* A job of partition p; its record may be changed before it is applied by core_apply(). */
UTIL struct job *core_job(struct core *c, uint32_t id, void (*with)(Pst__JobRecord *r))
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, id);

    assert_int_equal(pb_set_str(&r->partition, "p"), 0);
    SET(r, submit_us, T0);
    SET(r, eligible_us, T0);
    if (with)
        with(r);
    apply_ok(c->ctld.cluster, tx);
    return cluster_job(c->ctld.cluster, id);
}

/* For core_job(): jobs 7 and 8 are the components of one heterogeneous job. */
UTIL void core_component(Pst__JobRecord *r)
{
    SET(r, het_job_id, 7);
    SET(r, het_offset, r->job_id - 7);
    SET(r, het_count, 2);
}

/* The job starts on n nodes from n0 on: what becomes of its record, to be completed, and applied by
 * apply_ok(). */
UTIL Pst__JobRecord *core_start(uint32_t id, uint32_t nodes, Pst__Transaction **ret_tx)
{
    Pst__JobRecord *set;

    *ret_tx = tx_new(T0);
    set = tx_job_patch(*ret_tx, EV(JOB_START), id);
    SET(set, state, JOB_STATE(RUNNING));
    SET(set, start_us, T0);
    SET(set, released, false);
    set->alloc = make_alloc(0, nodes, 4, 100);
    return set;
}
