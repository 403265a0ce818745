/* journal.c - penstock journal: what an operator does with a controller's journal
 *
 * dump and verify may run beside a live controller; hash too, up to what is on disk when it reads;
 * repair takes the journal's lock. */
#include "penstock/penstock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "event.pb-c.h"
#include "journal/journal.h"
#include "model/cluster.h"

struct journal_args {
    char dir[INSTANCE_PATH_MAX]; /* StateSaveLocation */
    uint64_t from, to;
};

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    (void)puts(line); /* stdout errors show at exit */
}

/* ---- dump ------------------------------------------------------------------------------------ */

static void print_time(int64_t us)
{
    time_t secs = (time_t)(us / USEC_PER_SEC);
    struct tm tm;
    char text[32];

    if (!gmtime_r(&secs, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
        text[0] = '\0';
    (void)printf("\"%s.%06dZ\"", text, (int)(us % USEC_PER_SEC));
}

static int dump_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);
    struct err *err = ctx;
    int r;

    (void)snapshot;
    if (!tx)
        return err_set(err, -EUCLEAN, "lsn %" PRIu64 ": the record is no transaction", lsn);
    (void)printf("{\"lsn\":%" PRIu64 ",\"time\":", lsn);
    print_time(tx->time_us);
    (void)fputs(",\"transaction\":", stdout);
    r = pb_json_write(stdout, &tx->base, -1);
    (void)fputs("}\n", stdout);
    pst__transaction__free_unpacked(tx, NULL);
    return r < 0 || ferror(stdout) ? err_set(err, -EIO, "cannot write: %s", strerror(errno)) : 0;
}

static int run_dump(const struct journal_args *a)
{
    struct err err = { .text = "" };
    int r = journal_dump(a->dir, a->from, a->to, dump_record, &err, &err);

    return r < 0 ? say_error("%s", err.text[0] ? err.text : strerror(-r)) : STATUS_OK;
}

/* ---- verify, repair -------------------------------------------------------------------------- */

static int run_verify(const struct journal_args *a)
{
    int r = journal_verify(a->dir, print_line, NULL);

    if (r < 0)
        return say_error("%s: %s", a->dir, strerror(-r));
    return r == 0 ? STATUS_OK : STATUS_FAILED;
}

static int run_repair(const struct journal_args *a)
{
    struct err err = { .text = "" };
    int r = journal_repair(a->dir, print_line, NULL, &err);

    return r < 0 ? say_error("%s", err.text[0] ? err.text : strerror(-r)) : STATUS_OK;
}

/* ---- hash ------------------------------------------------------------------------------------ */

struct replay {
    struct cluster *cluster;
    uint64_t lsn, records;
    struct err err;
};

static int replay_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct replay *rp = ctx;
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);
    int r;

    (void)snapshot;
    if (!tx)
        return err_set(&rp->err, -EUCLEAN, "the record is no transaction");
    r = cluster_replay(rp->cluster, tx, len, &rp->err);
    pst__transaction__free_unpacked(tx, NULL);
    if (r < 0)
        err_prefix(&rp->err, "lsn %" PRIu64, lsn);
    rp->lsn = lsn;
    rp->records++;
    return r;
}

static int run_hash(const struct journal_args *a)
{
    struct journal_config config = { .dir = a->dir, .read_only = true };
    struct replay rp = { .err = { .text = "" } };
    struct journal *journal = NULL;
    struct err err = { .text = "" };
    int r = cluster_new(&rp.cluster);

    if (r < 0)
        return say_nomem();
    r = journal_open(&config, replay_record, &rp, &journal, &err);
    if (r < 0)
        (void)say_error("%s", rp.err.text[0] ? rp.err.text : err.text[0] ? err.text : strerror(-r));
    else
        (void)printf("lsn %" PRIu64 " hash %016" PRIx64 "\n", rp.lsn, cluster_hash(rp.cluster));
    if (journal)
        journal_close(journal);
    cluster_free(rp.cluster);
    return r < 0 ? STATUS_FAILED : STATUS_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(const struct journal_args *a);
} verbs[] = {
    { "dump", run_dump },
    { "verify", run_verify },
    { "repair", run_repair },
    { "hash", run_hash },
};

int cmd_journal(int argc, char **argv)
{
    static const struct option longs[] = { { "from", required_argument, NULL, 'f' },
                                           { "to", required_argument, NULL, 't' },
                                           { NULL, 0, NULL, 0 } };
    struct journal_args a = { .to = UINT64_MAX };
    int c, r;

    if (argc > 1 && strcmp(argv[1], "at") == 0)
        return cmd_journal_at(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "audit") == 0)
        return cmd_journal_audit(argc - 1, argv + 1);
    while ((c = getopt_long(argc, argv, "f:t:", longs, NULL)) != -1) {
        if (c != 'f' && c != 't')
            return bad_option();
        if (parse_u64(optarg, 1, UINT64_MAX, c == 'f' ? &a.from : &a.to) < 0)
            return usage_error("--%s: %s is not a sequence number", c == 'f' ? "from" : "to",
                               optarg);
    }
    if (argc - optind != 2)
        return usage_error("journal needs at, audit, dump, verify, repair or hash, and a folder");
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (strcmp(argv[optind], verbs[i].name) != 0)
            continue;
        r = journal_find(argv[optind + 1], a.dir);
        if (r == STATUS_OK)
            r = verbs[i].run(&a);
        return r;
    }
    return usage_error("journal: no such action: %s", argv[optind]);
}
