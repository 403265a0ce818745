/* test_past.c - moments of a journal, how far it reaches back, what an audit shows, and the
 * slurm.conf of a look into the past */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/timefmt.h"
#include "event.pb-c.h"
#include "folder_util.h"
#include "journal/earliest.h"
#include "journal/journal.h"
#include "penstock/past/audit.h"
#include "penstock/past/conftext.h"
#include "penstock/past/journalat.h"
#include "penstock/past/moment.h"
#include "penstock/penstock.h"
#include "wire/ops.h"

#define T0 (1700000000 * USEC_PER_SEC)
#define RECORDS 10

static char dir[64];

static int no_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    (void)ctx;
    (void)lsn;
    (void)snapshot;
    (void)data;
    (void)len;
    return 0;
}

static size_t pack_record(int64_t us, uint8_t *buf)
{
    Pst__Transaction tx = PST__TRANSACTION__INIT;

    tx.has_time_us = true;
    tx.time_us = us;
    return pst__transaction__pack(&tx, buf);
}

/* Records 1 to 10, a second apart, in segments of one batch each; snapshots of 4 and 8. */
static int setup(void **state)
{
    struct journal_config config = { .dir = dir, .segment_bytes = 64 };
    struct journal_snapshot *snap;
    struct journal *j = NULL;
    struct err err = { .text = "" };
    uint8_t buf[64];
    uint64_t lsn;

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/test_past.XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(journal_open(&config, no_record, NULL, &j, &err), 0);
    assert_int_equal(journal_start(j), 0);
    for (int i = 1; i <= RECORDS; i++) {
        size_t len = pack_record(T0 + i * USEC_PER_SEC, buf);

        assert_int_equal(journal_append(j, buf, len, &lsn), 0);
        journal_commit(j);
        assert_int_equal(journal_wait_durable(j, lsn), 0);
        if (i == 4 || i == 8) {
            assert_int_equal(journal_snapshot_begin(j, lsn, &snap), 0);
            assert_int_equal(journal_snapshot_put(snap, buf, len), 0);
            assert_int_equal(journal_snapshot_commit(snap, UINT64_MAX), 0);
        }
    }
    assert_null(journal_close(j));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return folder_unlink(dir);
}

static void test_earliest(void **state)
{
    struct err err = { .text = "" };
    uint64_t lsn, first;

    (void)state;
    assert_int_equal(journal_earliest(dir, &lsn, &first, &err), 0);
    assert_int_equal(lsn, 4); /* the older snapshot: what lies before is gone */
    assert_true(first > 1 && first <= 5);
    assert_int_equal(journal_earliest("/nonexistent", &lsn, &first, &err), -ENOENT);
    assert_true(err.text[0]);
}

static void test_moments(void **state)
{
    static const struct {
        const char *text;
        int rc;
        uint64_t lsn;
    } cases[] = {
        { "7", 0, 7 },
        { "10", 0, 10 },
        { "11", -EINVAL, 0 },
        { "1", -ENOENT, 0 },
        { "99999999999999999999", -EINVAL, 0 },
        { "uts1700000006", 0, 6 },
        { "uts1700000100", 0, 10 },
        { "uts1600000000", -ENOENT, 0 },
        { "uts1800000000", -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { "yesterdayish", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct moment m = { .lsn = 0 };
        struct err err = { .text = "" };

        if (moment_find(dir, cases[i].text, T0 + 1000 * USEC_PER_SEC, &m, &err) != cases[i].rc)
            fail_msg("'%s': %s", cases[i].text, err.text);
        assert_int_equal(m.lsn, cases[i].lsn);
        assert_int_equal(cases[i].rc != 0, err.text[0] != '\0');
    }
}

static void test_first(void **state)
{
    struct err err = { .text = "" };
    uint64_t lsn = 0;

    (void)state;
    assert_int_equal(moment_first(dir, T0 + 7 * USEC_PER_SEC, &lsn, &err), 0);
    assert_int_equal(lsn, 7);
    assert_int_equal(moment_first(dir, T0 + 70 * USEC_PER_SEC, &lsn, &err), 0);
    assert_true(lsn == UINT64_MAX);
}

/* ---- audit ----------------------------------------------------------------------------------- */

struct record {
    Pst__Transaction tx;
    Pst__Event event, *events[1];
    Pst__JobPatch patch;
    Pst__JobRecord set;
};

static void make_record(struct record *r)
{
    *r = (struct record){ .tx = PST__TRANSACTION__INIT,
                          .event = PST__EVENT__INIT,
                          .patch = PST__JOB_PATCH__INIT,
                          .set = PST__JOB_RECORD__INIT };
    r->tx.has_time_us = r->tx.has_uid = r->tx.has_op = true;
    r->tx.time_us = T0;
    r->tx.uid = 4294000000u;
    r->tx.op = OP_JOB_UPDATE;
    r->tx.from = (char *)"10.0.0.9";
    r->tx.n_events = 1;
    r->tx.events = r->events;
    r->events[0] = &r->event;
    r->event.has_kind = true;
    r->event.kind = PST__EVENT_KIND__EV_JOB_UPDATE;
    r->event.body_case = PST__EVENT__BODY_JOB_PATCH;
    r->event.job_patch = &r->patch;
    r->patch.has_job_id = true;
    r->patch.job_id = 12;
    r->patch.set = &r->set;
    r->set.comment = (char *)"a\nb";
}

static void test_audit_filter(void **state)
{
    struct record r;
    struct audit_filter any = { .until_us = INT64_MAX }, f;

    (void)state;
    make_record(&r);
    assert_true(audit_matches(&any, &r.tx));
    f = any;
    f.by_uid = true;
    f.uid = 0;
    assert_false(audit_matches(&f, &r.tx));
    f = any;
    f.job = 13;
    assert_false(audit_matches(&f, &r.tx));
    f.job = 12;
    assert_true(audit_matches(&f, &r.tx));
    f = any;
    f.by_op = true;
    f.op = OP_JOB_SUBMIT;
    assert_false(audit_matches(&f, &r.tx));
    f = any;
    f.from_us = T0 + 1;
    assert_false(audit_matches(&f, &r.tx));
    r.tx.has_uid = r.tx.has_op = false; /* by an older release: the kind tells */
    assert_true(audit_matches(&any, &r.tx));
    r.event.kind = PST__EVENT_KIND__EV_JOB_START;
    assert_false(audit_matches(&any, &r.tx));
    any.all = true;
    assert_true(audit_matches(&any, &r.tx));
}

static void print_to(char *buf, size_t size, bool json, const struct record *r)
{
    FILE *f = fmemopen(buf, size, "w");

    assert_non_null(f);
    audit_print(f, json, 5, &r->tx);
    assert_int_equal(fclose(f), 0);
}

static void test_audit_lines(void **state)
{
    char text[1024];
    struct record r;

    (void)state;
    make_record(&r);
    print_to(text, sizeof(text), false, &r);
    assert_non_null(strstr(text, "4294000000 10.0.0.9 job-update job-update job=12 "));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
    print_to(text, sizeof(text), true, &r);
    assert_non_null(strstr(text, "\"op\":\"job-update\",\"from\":\"10.0.0.9\""));
    assert_non_null(strstr(text, "\"set\":{\"comment\":\"a\\nb\"}"));
    r.tx.has_uid = r.tx.has_op = false;
    r.tx.from = NULL;
    print_to(text, sizeof(text), false, &r);
    assert_non_null(strstr(text, " - - - job-update"));
}

static void test_audit_usage(void **state)
{
    char *bad[][3] = { { (char *)"audit", (char *)"--op=nope", NULL },
                       { (char *)"audit", (char *)"--job=x", NULL },
                       { (char *)"audit", (char *)"--from=never", NULL },
                       { (char *)"audit", (char *)"extra", NULL } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        optind = 0;
        assert_int_equal(cmd_journal_audit(2, bad[i]), STATUS_USAGE);
    }
}

static void test_at_usage(void **state)
{
    char *none[] = { (char *)"at", NULL }, *bare[] = { (char *)"at", (char *)"7", NULL };

    (void)state;
    optind = 0;
    assert_int_equal(cmd_journal_at(1, none), STATUS_USAGE);
    optind = 0;
    assert_int_equal(cmd_journal_at(2, bare), STATUS_USAGE);
    assert_int_equal(setenv("SLURM_CONF", "/nonexistent", 1), 0);
    assert_int_equal(journalat_run("7", dir, bare), STATUS_FAILED);
}

/* ---- slurm.conf ------------------------------------------------------------------------------ */

static void test_conftext(void **state)
{
    static const char text[] = "ClusterName=c\n slurmctldhost=a\nSlurmctldHostile=1\n"
                               "SlurmctldPort = 1 \\\n  more\nNodeName=n[1-2] \\\nCPUs=1\n"
                               "#SlurmctldPort=1\n";
    static const char wanted[] = "ClusterName=c\nSlurmctldHostile=1\nNodeName=n[1-2] \\\nCPUs=1\n"
                                 "#SlurmctldPort=1\n";
    struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
    struct err err = { .text = "" };
    char path[128], copy[128], other[128];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/slurm.conf", dir);
    (void)snprintf(copy, sizeof(copy), "%s/copy", dir);
    (void)snprintf(other, sizeof(other), "%s/copy/journal", dir);
    strbuf_add(&in, text);
    assert_int_equal(conftext_write(path, &in, &err), 0);
    assert_int_equal(conftext_write(path, &in, &err), -EEXIST);
    assert_int_equal(conftext_without(path, conftext_place_keys, &out, &err), 0);
    assert_string_equal(strbuf_str(&out), wanted);
    assert_int_equal(conftext_without("/nonexistent", conftext_place_keys, &out, &err), -ENOENT);
    assert_int_equal(mkdir(copy, 0700), 0);
    assert_int_equal(conftext_link_others(path, copy, &err), 0);
    assert_int_equal(access(other, F_OK), 0);
    (void)snprintf(other, sizeof(other), "%s/copy/slurm.conf", dir);
    assert_int_equal(access(other, F_OK), -1);
    strbuf_done(&in);
    strbuf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_earliest),    cmocka_unit_test(test_moments),
        cmocka_unit_test(test_first),       cmocka_unit_test(test_audit_filter),
        cmocka_unit_test(test_audit_lines), cmocka_unit_test(test_audit_usage),
        cmocka_unit_test(test_at_usage),    cmocka_unit_test(test_conftext),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
