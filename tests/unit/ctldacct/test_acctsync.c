/* test_acctsync.c - changes of accounting records on their way into the log: what is new, what is
 * refused, and when the sender hears of it */
#include "coreask_util.h"

#include "ctld/acct/acctsync.h"
#include "model/account/assoc.h"

extern const struct ctld_service acctsync_service;

static unsigned changed; /* how often the services were told */

static void count_change(struct ctld *ctld)
{
    (void)ctld;
    changed++;
}

static unsigned numbered; /* transactions that bring a version */

static void see_versions(struct ctld *ctld, const Pst__Transaction *tx, struct strbuf *notes)
{
    bool any = false;

    (void)ctld, (void)notes;
    for (size_t i = 0; i < tx->n_events; i++)
        any = any || (tx->events[i]->acct_change && tx->events[i]->acct_change->has_version);
    numbered += any;
}

static const struct ctld_service listener = { .name = "listener",
                                              .acct_changed = count_change,
                                              .note = see_versions };
static const struct ctld_service *const services[] = { &acctsync_service, &listener, NULL };

static struct core core;
static struct conn *dbd;

static void begin(void)
{
    changed = numbered = 0;
    coreask_begin(&core, "", services);
    dbd = coreask_connect(0);
}

static void end(void)
{
    acctsync_end(&core.ctld);
    coreask_hang_up(&core, dbd);
    dbd = conn_unref(dbd);
    coreask_end(&core);
}

/* 0 with the version reached, or the code of the refusal. */
static int bring(const char *changes, uint64_t *ret_version)
{
    ProtobufCMessage *reply = NULL;
    char json[2048];
    int code;

    (void)snprintf(json, sizeof(json), "{'changes':[%s]}", changes);
    code = coreask(&core, dbd, NULL, OP_ACCT_CHANGES, json, &reply);
    if (code == 0) {
        *ret_version = ((Pst__AcctReached *)reply)->version;
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    return code;
}

static bool has_account(const char *name)
{
    const Pst__AccountRecord *a = am_account(core.ctld.cluster->am, name);

    return a && !a->deleted;
}

#define ACCOUNTS "{'version':1,'account':{'name':'root'}},{'version':2,'account':{'name':'bio'}}"

/* What is new is in force, with its number; the same again costs the log nothing. */
static void test_rest(void **state)
{
    uint64_t version = 0, lsn;

    (void)state;
    begin();
    assert_int_equal(bring(ACCOUNTS, &version), 0);
    assert_int_equal(version, 2);
    assert_true(has_account("root") && has_account("bio"));
    assert_int_equal(core.ctld.cluster->rec->acct_version, 2);
    assert_int_equal(changed, 1);
    lsn = core.ctld.applied_lsn;
    assert_int_equal(bring(ACCOUNTS, &version), 0);
    assert_int_equal(version, 2);
    assert_int_equal(core.ctld.applied_lsn, lsn);
    assert_int_equal(changed, 1);
    /* one of it is new, and one old that says something else: it was overtaken */
    assert_int_equal(bring("{'version':2,'account_remove':'root'},"
                           "{'version':3,'account':{'name':'geo'}}",
                           &version),
                     0);
    assert_int_equal(version, 3);
    assert_true(has_account("root") && has_account("geo"));
    end();
}

/* All there is: what is not mentioned goes, what is equal stays, and the number may be lower than
 * it was, since the store may be another. */
static void test_full(void **state)
{
    uint64_t version = 0, lsn;

    (void)state;
    begin();
    assert_int_equal(bring(ACCOUNTS ",{'version':9,'user':{'name':'ann'}}", &version), 0);
    lsn = core.ctld.applied_lsn;
    assert_int_equal(bring("{'clear':true},{'account':{'name':'root'}},{'account':{'name':'bio'}},"
                           "{'version':9,'user':{'name':'ann'}}",
                           &version),
                     0);
    assert_int_equal(core.ctld.applied_lsn, lsn); /* just this */
    assert_int_equal(version, 9);
    assert_int_equal(bring("{'clear':true},{'account':{'name':'root'}},"
                           "{'version':4,'account':{'name':'geo'}}",
                           &version),
                     0);
    assert_int_equal(version, 4);
    assert_int_equal(core.ctld.cluster->rec->acct_version, 4);
    assert_true(has_account("root") && has_account("geo"));
    assert_false(has_account("bio"));
    assert_null(am_user(core.ctld.cluster->am, "ann"));
    /* nothing is new but the number */
    lsn = core.ctld.applied_lsn;
    assert_int_equal(bring("{'clear':true},{'account':{'name':'root'}},"
                           "{'version':7,'account':{'name':'geo'}}",
                           &version),
                     0);
    assert_int_equal(core.ctld.cluster->rec->acct_version, 7);
    assert_int_equal(core.ctld.applied_lsn, lsn + 1);
    assert_int_equal(bring("{'version':8,'clear':true}", &version), 0);
    assert_false(has_account("root") || has_account("geo"));
    end();
}

/* One change that names no record spoils the batch: nothing of it is taken. */
static void test_refused(void **state)
{
    uint64_t version = 0, lsn;

    (void)state;
    begin();
    lsn = core.ctld.applied_lsn;
    assert_int_equal(
        bring("{'version':1,'account':{'name':'bio'}},{'version':2,'account':{}}", &version),
        EPST_BAD_REQUEST);
    assert_int_equal(bring("{'version':1}", &version), EPST_BAD_REQUEST);
    assert_false(has_account("bio"));
    assert_int_equal(core.ctld.applied_lsn, lsn);
    assert_false(core.ctld.cluster->rec->has_acct_version);
    end();
}

/* ---- from another thread --------------------------------------------------------------------- */

struct said {
    unsigned times;
    int r;
    uint64_t version;
};

static void note_done(void *arg, int r, uint64_t version)
{
    struct said *s = arg;

    s->times++;
    s->r = r;
    s->version = version;
}

static void post(size_t n, uint64_t last_version, struct said *said)
{
    Pst__AcctChange **changes = malloc(n * sizeof(*changes));

    assert_non_null(changes);
    for (size_t i = 0; i < n; i++) {
        char json[96];

        (void)snprintf(json, sizeof(json), "{'version':%llu,'account':{'name':'a%zu'}}",
                       (unsigned long long)(last_version - n + 1 + i), i);
        changes[i] = (Pst__AcctChange *)from_json(&pst__acct_change__descriptor, json);
    }
    *said = (struct said){ .r = 1 };
    acctsync_post(&core.ctld, changes, n, note_done, said);
}

/* The sender hears once, when the batch is on disk. */
static void test_durable(void **state)
{
    struct said first, second;
    uint64_t lsn;

    (void)state;
    begin();
    post(3, 3, &first);
    assert_int_equal(first.times, 0);
    coreask_turn(&core);
    assert_true(has_account("a2"));
    lsn = core.ctld.applied_lsn;
    acctsync_durable(&core.ctld, lsn);
    assert_int_equal(first.times, 1);
    assert_int_equal(first.r, 0);
    assert_int_equal(first.version, 3);
    post(3, 3, &second); /* the same again: nothing to wait for */
    coreask_turn(&core);
    acctsync_durable(&core.ctld, lsn);
    assert_int_equal(second.times, 1);
    assert_int_equal(second.version, 3);
    assert_int_equal(first.times, 1);
    end();
}

/* A large batch goes in pieces, and its number with the last: a crash between them leaves the old
 * one, so that the store sends all of it again. */
static void test_pieces(void **state)
{
    struct said said;
    uint64_t lsn;

    (void)state;
    begin();
    lsn = core.ctld.applied_lsn;
    post(1200, 5000, &said);
    coreask_turn(&core);
    assert_int_equal(core.ctld.applied_lsn, lsn + 3);
    assert_int_equal(numbered, 1);
    assert_true(has_account("a0") && has_account("a1199"));
    assert_int_equal(core.ctld.cluster->rec->acct_version, 5000);
    assert_int_equal(changed, 1);
    end();
    assert_int_equal(said.times, 1);
}

/* What the core has not come to when the controller ends is given back. */
static void test_cancelled(void **state)
{
    struct said said;

    (void)state;
    coreask_begin(&core, "", services);
    post(1, 1, &said);
    coreask_end(&core);
    assert_int_equal(said.times, 1);
    assert_int_equal(said.r, -ECANCELED);
}

/* A batch that cannot be taken is said so at once. */
static void test_bad_post(void **state)
{
    Pst__AcctChange **changes = malloc(sizeof(*changes));
    struct said said = { .r = 1 };

    (void)state;
    begin();
    assert_non_null(changes);
    changes[0] =
        (Pst__AcctChange *)from_json(&pst__acct_change__descriptor, "{'version':5,'qos':{}}");
    acctsync_post(&core.ctld, changes, 1, note_done, &said);
    coreask_turn(&core);
    assert_int_equal(said.times, 1);
    assert_int_equal(said.r, -EUCLEAN);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest),     cmocka_unit_test(test_full),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_durable),
        cmocka_unit_test(test_pieces),   cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_bad_post),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
