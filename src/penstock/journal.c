/* journal.c - penstock journal: what an operator does with a controller's journal
 *
 * dump and verify may run beside a live controller; hash too, up to what is on disk when it reads;
 * repair and downgrade take the journal's lock. */
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
#include "journal/downgrade.h"
#include "journal/journal.h"
#include "model/cluster.h"
#include "penstock/logstrip.h"

struct journal_args {
    char dir[INSTANCE_PATH_MAX]; /* StateSaveLocation */
    uint64_t from, to;
    bool dry_run;
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

/* ---- downgrade ------------------------------------------------------------------------------- */

struct downgrading {
    struct cluster *cluster;
    struct losses losses;
    uint8_t *packed; /* the newest record that was changed */
    size_t cap;
    struct err err;
};

static int pack_again(struct downgrading *d, const Pst__Transaction *tx, size_t *ret_len)
{
    size_t len = pst__transaction__get_packed_size(tx);

    if (len > d->cap) {
        uint8_t *more = realloc(d->packed, len);

        if (!more)
            return -ENOMEM;
        d->packed = more;
        d->cap = len;
    }
    *ret_len = pst__transaction__pack(tx, d->packed);
    return 0;
}

static int replay_stripped(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct downgrading *d = ctx;
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);
    int r;

    (void)snapshot;
    if (!tx)
        return err_set(&d->err, -EUCLEAN, "record %" PRIu64 " is no transaction", lsn);
    (void)logstrip(tx, lsn, &d->losses);
    r = cluster_replay(d->cluster, tx, len, &d->err);
    pst__transaction__free_unpacked(tx, NULL);
    if (r < 0)
        err_prefix(&d->err,
                   "without what this release does not know, record %" PRIu64 " cannot be applied",
                   lsn);
    return r;
}

static int try_replay(struct downgrading *d, const char *dir)
{
    struct journal_config config = { .dir = dir, .read_only = true, .any_level = true };
    struct journal *journal = NULL;
    struct err err = { .text = "" };
    int r = cluster_new(&d->cluster);

    if (r < 0)
        return say_nomem();
    r = journal_open(&config, replay_stripped, d, &journal, &err);
    if (r < 0)
        (void)say_error("%s", d->err.text[0] ? d->err.text : err.text[0] ? err.text : strerror(-r));
    (void)journal_close(journal); /* always NULL */
    d->cluster = cluster_free(d->cluster);
    return r < 0 ? STATUS_FAILED : STATUS_OK;
}

static int rewrite_record(void *ctx, const uint8_t *data, size_t len, const uint8_t **ret_data,
                          size_t *ret_len)
{
    struct downgrading *d = ctx;
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);
    int r = 0;

    if (!tx)
        return -EUCLEAN;
    if (logstrip(tx, 0, NULL)) {
        r = pack_again(d, tx, ret_len);
        *ret_data = d->packed;
        r = r < 0 ? r : 1;
    }
    pst__transaction__free_unpacked(tx, NULL);
    return r;
}

static void print_file(void *ctx, const char *line)
{
    bool *any = ctx;

    *any = true;
    (void)puts(line); /* stdout errors show at exit */
}

static int rewrite_files(struct downgrading *d, const char *dir)
{
    struct err err = { .text = "" };
    bool any = false;
    int r = journal_downgrade(dir, rewrite_record, d, print_file, &any, &err);

    if (r < 0)
        return say_error("%s", err.text[0] ? err.text : strerror(-r));
    if (!any)
        (void)puts("this release reads the log as it is: nothing was changed");
    return STATUS_OK;
}

/* The state is rebuilt in memory from what this release knows of each record.  Only when that
 * holds are the files written again. */
static int run_downgrade(const struct journal_args *a)
{
    struct downgrading *d = calloc(1, sizeof(*d));
    int r;

    if (!d)
        return say_nomem();
    r = try_replay(d, a->dir);
    if (r == STATUS_OK) {
        losses_print(stdout, &d->losses);
        r = a->dry_run ? STATUS_OK : rewrite_files(d, a->dir);
    }
    free(d->packed);
    free(d);
    return r;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(const struct journal_args *a);
} verbs[] = {
    { "dump", run_dump }, { "verify", run_verify },       { "repair", run_repair },
    { "hash", run_hash }, { "downgrade", run_downgrade },
};

int cmd_journal(int argc, char **argv)
{
    static const struct option longs[] = { { "from", required_argument, NULL, 'f' },
                                           { "to", required_argument, NULL, 't' },
                                           { "dry-run", no_argument, NULL, 'n' },
                                           { NULL, 0, NULL, 0 } };
    struct journal_args a = { .to = UINT64_MAX };
    int c, r;

    if (argc > 1 && strcmp(argv[1], "at") == 0)
        return cmd_journal_at(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "audit") == 0)
        return cmd_journal_audit(argc - 1, argv + 1);
    while ((c = getopt_long(argc, argv, "f:t:", longs, NULL)) != -1) {
        if (c == 'n') {
            a.dry_run = true;
            continue;
        }
        if (c != 'f' && c != 't')
            return bad_option();
        if (parse_u64(optarg, 1, UINT64_MAX, c == 'f' ? &a.from : &a.to) < 0)
            return usage_error("--%s: %s is not a sequence number", c == 'f' ? "from" : "to",
                               optarg);
    }
    if (argc - optind != 2)
        return usage_error(
            "journal needs at, audit, dump, verify, repair, downgrade or hash, and a "
            "folder");
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
