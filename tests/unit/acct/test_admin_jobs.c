/* test_admin_jobs.c - records of jobs changed afterwards: what may be noted, by whom, and runs that
 * never ended; the script of a job */
#include "admin_util.h"

#include "blob_util.h"

#define SCRIPT "#!/bin/sh\n"

static const struct admin_who alice = { .user = "alice" }, bob = { .user = "bob" };

/* Job 7 of alice in cluster demo: runs from 10 to 50 unless it still lives. */
static void run_job(struct office *o, bool ends)
{
    struct world *w = o->w;
    Pst__Transaction *tx = submit(7, 3, 0);
    Pst__JobRecord *j = tx->events[0]->job_put;
    struct err err = { .text = "" };
    struct digest d;

    if (!w->acct)
        assert_int_equal(acct_open(w->db, "demo", &w->acct, &err), 0);
    assert_int_equal(pb_set_str(&j->user_name, "alice"), 0);
    assert_int_equal(pb_set_str(&j->account, "physics"), 0);
    assert_int_equal(pb_set_str(&j->wckey, "red"), 0);
    assert_int_equal(pb_set_str(&j->alloc_tres, "cpu=4,mem=4G,node=1"), 0);
    assert_int_equal(digest_of(SCRIPT, strlen(SCRIPT), &d), 0);
    tx_digest(&d, &j->has_script_digest, &j->script_digest);
    tx_blob(tx, &d, SCRIPT, strlen(SCRIPT));
    feed(w, tx);
    feed(w, start(7, 3, 10, "n0"));
    if (ends)
        feed(w, end(7, 50, JOB_STATE(COMPLETED), 0));
}

static Pst__JobRecord *only_job(struct answer *a)
{
    assert_int_equal(a->n, 1);
    return a->jobs[0]->job;
}

static void test_notes(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct office o;
    Pst__JobRecord *j;

    open_office(&o, *state);
    run_job(&o, true);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "JOB",
                               "'where':{'ids':[7]},'set':{'job':{'comment':'good',"
                               "'derived_exit_code':256,'extra':'x=1','wckey':'blue'}}"),
                     0);
    assert_int_equal(strncmp(o.res->lines[0], "7 submitted at ", 15), 0);
    must(&o, "MODIFY", "JOB",
         "'where':{'ids':[7]},'set':{'job':{'admin_comment':'seen','system_comment':'sys'}}");
    a = ask_all(o.w->db);
    j = only_job(&a);
    assert_string_equal(j->comment, "good");
    assert_string_equal(j->extra, "x=1");
    assert_string_equal(j->wckey, "blue");
    assert_string_equal(j->admin_comment, "seen");
    assert_string_equal(j->system_comment, "sys");
    assert_int_equal(j->derived_exit_status, 256);
    assert_int_equal(j->state, JOB_STATE(COMPLETED));
    assert_told(&o, "TXN", "{'actions':['Modify Job']}", "'where':'(id_job=7)'");
    close_office(&o);
}

static void test_notes_refused(void **state)
{
    struct office o;

    open_office(&o, *state);
    run_job(&o, true);
    /* another's job; and what only operators note */
    assert_int_equal(
        change_as(&o, &bob, "MODIFY", "JOB", "'where':{'ids':[7]},'set':{'job':{'comment':'x'}}"),
        ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "JOB",
                               "'where':{'ids':[7]},'set':{'job':{'admin_comment':'x'}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "JOB",
                               "'where':{'ids':[7]},'set':{'job':{'system_comment':'x'}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "JOB",
                               "'where':{'ids':[7]},'set':{'job':{'tres':'cpu=1'}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(
        change(&o, "MODIFY", "JOB", "'where':{'ids':[8]},'set':{'job':{'comment':'x'}}"),
        SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

static void test_conditions(void **state)
{
    static const struct {
        const char *where;
        bool hit;
    } cases[] = {
        { "'users':['alice']", true },
        { "'users':['bob']", false },
        { "'wckeys':['red']", true },
        { "'wckeys':['blue']", false },
        { "'clusters':['demo']", true },
        { "'clusters':['east']", false },
        { "'start_us':1700000010000000", true },
        { "'start_us':1700000010000001", false },
        { "'end_us':1700000050000000", true },
        { "'end_us':1700000049999999", false },
    };
    struct office o;

    open_office(&o, *state);
    run_job(&o, true);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char body[256];

        (void)snprintf(body, sizeof(body), "'where':{'ids':[7],%s},'set':{'job':{'comment':'x'}}",
                       cases[i].where);
        assert_int_equal(change(&o, "MODIFY", "JOB", body),
                         cases[i].hit ? 0 : SLURM_NO_CHANGE_IN_DATA);
    }
    close_office(&o);
}

static void test_live(void **state)
{
    struct office o;

    open_office(&o, *state);
    run_job(&o, false);
    assert_int_equal(
        change(&o, "MODIFY", "JOB", "'where':{'ids':[7]},'set':{'job':{'comment':'x'}}"),
        ESLURM_JOB_PENDING);
    assert_non_null(strstr(o.res->text, "scontrol update"));
    close_office(&o);
}

/* Counts of the list are replaced, those it lacks come behind. */
static void test_tres(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct office o;

    open_office(&o, *state);
    run_job(&o, true);
    must(&o, "MODIFY", "JOB",
         "'where':{'ids':[7]},'set':{'job':{'tres':'energy=12,mem=8G,cpu=2'}}");
    a = ask_all(o.w->db);
    assert_string_equal(only_job(&a)->alloc_tres, "cpu=2,mem=8G,node=1,energy=12");
    close_office(&o);
}

static void test_runaway(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct office o;

    open_office(&o, *state);
    run_job(&o, false);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "RUNAWAY", "'where':{'ids':[7]}"),
                     ESLURM_ACCESS_DENIED);
    must(&o, "MODIFY", "RUNAWAY", "'where':{'ids':[7,8]}");
    assert_named(&o, "7");
    a = ask_all(o.w->db);
    assert_int_equal(only_job(&a)->state, JOB_STATE(COMPLETED));
    assert_int_equal(only_job(&a)->end_us, T0 + 10 * SEC); /* when it started */
    assert_int_equal(change(&o, "MODIFY", "RUNAWAY", "'where':{'ids':[7]}"),
                     SLURM_NO_CHANGE_IN_DATA); /* it is over now */
    close_office(&o);
}

static void test_runaway_failed(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct office o;
    char body[128];

    open_office(&o, *state);
    run_job(&o, false);
    (void)snprintf(body, sizeof(body), "'where':{'ids':[7]},'set':{'job':{'end_state':%d}}",
                   JOB_STATE(FAILED));
    must(&o, "MODIFY", "RUNAWAY", body);
    a = ask_all(o.w->db);
    assert_int_equal(only_job(&a)->state, JOB_STATE(FAILED));
    assert_told(&o, "TXN", "{'actions':['runaway']}", "'Fix Runaway Job'");
    close_office(&o);
}

/* ---- scripts --------------------------------------------------------------------------------- */

static int ask_script(struct office *o, const struct admin_who *who, uid_t uid, const char *cluster,
                      uint32_t job, bool env, char **ret)
{
    Pst__AcctBlobRequest req = PST__ACCT_BLOB_REQUEST__INIT;
    Pst__AcctBlobReply reply = PST__ACCT_BLOB_REPLY__INIT;
    int code = -1;

    req.cluster = (char *)cluster; /* only read */
    req.has_job_id = req.has_env = 1;
    req.job_id = job;
    req.env = env;
    assert_int_equal(admin_blob(o->admin, who, uid, &req, &reply, &code), 0);
    *ret = reply.has_data ? strndup((const char *)reply.data.data, reply.data.len) : NULL;
    free(reply.data.data);
    return code;
}

static void test_script(void **state)
{
    struct office o;
    char *text = NULL;

    open_office(&o, *state);
    run_job(&o, true);
    assert_int_equal(ask_script(&o, &root_user, 0, "demo", 7, false, &text), 0);
    assert_string_equal(text, SCRIPT);
    free(text);
    assert_int_equal(ask_script(&o, &alice, 1000, "demo", 7, false, &text), 0); /* her own */
    assert_string_equal(text, SCRIPT);
    free(text);
    assert_int_equal(ask_script(&o, &bob, 1001, "demo", 7, false, &text), ESLURM_ACCESS_DENIED);
    assert_null(text);
    assert_int_equal(ask_script(&o, &alice, 1000, "demo", 7, true, &text), 0);
    assert_null(text); /* it has no environment in the store */
    assert_int_equal(ask_script(&o, &root_user, 0, "demo", 8, false, &text), ESLURM_INVALID_JOB_ID);
    assert_int_equal(ask_script(&o, &root_user, 0, "east", 7, false, &text), ESLURM_INVALID_JOB_ID);
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_notes, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_notes_refused, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_conditions, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_live, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_tres, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_runaway, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_runaway_failed, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_script, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
