/* simverify.c - penstock sim --journal DIR --verify: does the scheduler decide what it decided?
 *
 * The work is in src/sim/verify/passverify.c; here are the files and the report. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "conf/conf.h"
#include "event.pb-c.h"
#include "journal/journal.h"
#include "penstock/simbar.h"
#include "penstock/simlive.h"
#include "penstock/simtopo.h"
#include "sim/report.h"
#include "sim/verify/passverify.h"

struct told {
    struct strbuf text;
    const struct sim_args *a;
    size_t n;
};

DEFINE_CLEANUP(struct verify *, verify_free)

static void on_difference(void *ctx, const char *text)
{
    struct told *t = ctx;

    if (t->a->json) {
        strbuf_add(&t->text, t->n++ ? "," : "");
        report_json_string(&t->text, text);
    } else {
        (void)puts(text); /* stdout errors show at exit */
    }
}

static int on_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);

    return tx ? verify_add(ctx, lsn, snapshot, tx) : -EUCLEAN;
}

/* The slurm.conf of a private cluster, or the one of this host. */
static void find_conf(const struct sim_args *a, char *buf, size_t size)
{
    struct stat st;

    (void)snprintf(buf, size, "%s", a->conf ? a->conf : "");
    if (a->conf)
        return;
    (void)snprintf(buf, size, "%s/etc/slurm.conf", a->journal);
    if (stat(buf, &st) < 0)
        (void)snprintf(buf, size, "%s/../etc/slurm.conf", a->journal);
    if (stat(buf, &st) < 0)
        (void)snprintf(buf, size, "%s", conf_default_path());
}

static void print_report(const struct sim_args *a, const struct verify_sums *s,
                         const struct told *t)
{
    if (a->json)
        (void)printf("{\"records\":%" PRIu64 ",\"boots\":%" PRIu64 ",\"passes\":%" PRIu64
                     ",\"starts\":%" PRIu64 ",\"equal\":%" PRIu64 ",\"different\":%" PRIu64
                     ",\"superseded\":%" PRIu64 ",\"unnoted\":%" PRIu64 ",\"forgotten\":%" PRIu64
                     ",\"differences\":[%s]}\n",
                     s->records, s->boots, s->passes, s->starts, s->equal, s->different,
                     s->superseded, s->unnoted, s->forgotten, strbuf_str(&t->text));
    else
        (void)printf("%" PRIu64 " records, %" PRIu64 " passes, %" PRIu64 " starts: %" PRIu64
                     " equal, %" PRIu64 " differences\n",
                     s->records, s->passes, s->starts, s->equal, s->different);
    if (!a->json && s->superseded)
        (void)printf("%" PRIu64 " proposals were overtaken by changes of their jobs or nodes\n",
                     s->superseded);
    if (!a->json && s->forgotten)
        (void)printf(
            "%" PRIu64
            " passes between were too many to be written down; plans behind them may differ\n",
            s->forgotten);
    if (!a->json && s->unnoted)
        (void)printf("%" PRIu64
                     " starts are of an older release that did not write down their passes\n",
                     s->unnoted);
}

int simverify_run(const struct sim_args *a)
{
    _cleanup_(conf_topos_free) struct conf_topos *topos = NULL;
    _cleanup_(verify_free) struct verify *v = NULL;
    _cleanup_(conf_free) struct conf *conf = NULL;
    struct told told = { .text = STRBUF_INIT, .a = a };
    char state[INSTANCE_PATH_MAX + 32], file[INSTANCE_PATH_MAX + 32];
    struct journal_config config = { .dir = state, .read_only = true };
    struct sim_args b = *a;
    struct journal *journal = NULL;
    struct verify_sums sums = { 0 };
    struct simbar bar = simbar_begin("verify", "records", a->quiet);
    struct err err = { .text = "" };
    int r;

    find_conf(a, file, sizeof(file));
    b.conf = file;
    r = simload_conf(&b, NULL, "conf", &conf);
    if (r != STATUS_OK)
        return r;
    simjournal_find(a->journal, state, sizeof(state));
    r = verify_new(conf, on_difference, &told, &v);
    if (r == 0)
        r = simtopo_files(conf, file, &topos, &err);
    if (r == 0)
        verify_set_topologies(v, topos);
    if (r == 0)
        r = journal_open(&config, on_record, v, &journal, &err);
    if (journal)
        journal_close(journal);
    if (r == 0)
        r = verify_run(v, simbar_progress, &bar, &sums, &err);
    simbar_end(&bar);
    if (r < 0) {
        strbuf_done(&told.text);
        return say_error("%s: %s", a->journal, err.text[0] ? err.text : strerror(-r));
    }
    print_report(a, &sums, &told);
    strbuf_done(&told.text);
    return sums.different ? STATUS_FAILED : STATUS_OK;
}
