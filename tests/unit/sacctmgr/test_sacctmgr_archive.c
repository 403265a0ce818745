/* test_sacctmgr_archive.c - archive dump and load: words, ages, questions, failures */
#include "acct.pb-c.h"

#include "smgr_util.h"
#include "wire/errors.h"

static struct output said;

static void run_archive(const char *words, const char *input)
{
    run_line(&said, smgr_archive, words, input);
}

static Pst__ArchiveRequest *asked(void)
{
    return PEER_TAKE(&store, OP_ARCHIVE, archive_request);
}

static void answer_nothing(void)
{
    Pst__ArchiveReply reply = PST__ARCHIVE_REPLY__INIT;

    peer_answer(&store, OP_ARCHIVE, &reply.base);
}

#define DONE "sacctmgr: accounting_storage/slurmdbd: jobacct_storage_p_archive: SUCCESS\n"

static void test_dump(void **state)
{
    Pst__ArchiveReply reply = PST__ARCHIVE_REPLY__INIT;
    char *files[] = { (char *)"/a/one", (char *)"/a/two" };
    Pst__ArchiveRequest *req;

    (void)state;
    reply.files = files;
    reply.n_files = 2;
    peer_answer(&store, OP_ARCHIVE, &reply.base);
    run_archive("dump directory=/tmp events jobs=no steps=yes PurgeJobAfter=1hours "
                "purgestepafter=12months purgeeventafter=30days purgetxnafter=6",
                NULL);
    expect_said(&said, "/a/one\n/a/two\n", DONE);
    assert_int_equal(smgr.status, 0);
    req = asked();
    assert_false(req->load);
    assert_string_equal(req->directory, "/tmp");
    assert_true(req->has_events && req->events);
    assert_true(req->has_jobs && !req->jobs);
    assert_true(req->steps);
    assert_false(req->has_usage);
    assert_int_equal(req->purge_job_h, 1);
    assert_int_equal(req->purge_step_h, 12 * 30 * 24);
    assert_int_equal(req->purge_event_h, 30 * 24);
    assert_int_equal(req->purge_txn_h, 6 * 30 * 24); /* a bare number is months */
    assert_false(req->has_purge_usage_h);
    pst__archive_request__free_unpacked(req, NULL);
}

/* As recorded. */
static void test_refusals(void **state)
{
    static const struct {
        const char *words, *told;
    } rows[] = {
        { "dump directory=/nonexistent",
          " dump: Failed to stat /nonexistent: No such file or directory\n"
          " Note: For archive dump, the directory must be on the calling host.\n" },
        { "dump nosuch=1", " Unknown condition: nosuch=1\n" },
        { "dump purgejobafter=soon", "sacctmgr: error: Invalid purge string 'soon'\n" },
        { "dump purgejobafter=0", "sacctmgr: error: Invalid purge string '0'\n" },
        { "dump purgejobafter=1year",
          "sacctmgr: error: Invalid purge unit 'year', valid options are hours, days, or "
          "months\n" },
        { "dump purgejobafter", "sacctmgr: error: Invalid purge string ''\n" },
        { "load", "sacctmgr: error: Error with request.\n"
                  " Problem loading archive file: Unspecified error\n" },
        { "load nosuch=1", " Unknown option: nosuch=1\n" },
        { "stow", "No valid entity in archive command\n"
                  "Input line must include, \"Dump\", or \"load\"\n" },
        { "", "No valid entity in archive command\n"
              "Input line must include, \"Dump\", or \"load\"\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        run_archive(rows[i].words, NULL);
        expect_said(&said, "", rows[i].told);
        assert_int_equal(smgr.status, 1);
    }
    smgr.readonly = true;
    run_archive("dump jobs", NULL);
    expect_said(&said, "", "Can't run this command in readonly mode.\n");
    assert_true(peer_is_quiet(&store));
}

static void test_question(void **state)
{
    static const char question[] =
        "This may result in loss of accounting database records (if Purge* options enabled).\n"
        "Are you sure you want to continue? (You have 30 seconds to decide)\n(N/y): \n";
    char refused[512];

    (void)state;
    smgr.immediate = false;
    run_archive("dump", "n");
    (void)snprintf(refused, sizeof(refused), "%s Changes Discarded\n", question);
    expect_said(&said, refused, "");
    assert_true(peer_is_quiet(&store));
    answer_nothing();
    run_archive("dump", "y");
    expect_said(&said, question, DONE);
    answer_nothing();
    run_archive("load file=/x", "y");
    expect_said(&said,
                "Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): \n", "");
}

/* The service has a folder of its own: it gets whole paths of files that are here. */
static void test_load(void **state)
{
    Pst__ArchiveRequest *req;

    (void)state;
    answer_nothing();
    run_archive("load /proc/../proc/self/../version", NULL);
    req = asked();
    assert_true(req->load);
    assert_string_equal(req->file, "/proc/version");
    pst__archive_request__free_unpacked(req, NULL);
    peer_refuse(&store, OP_ARCHIVE, SLURM_ERROR, "/nonexistent: No such file or directory");
    run_archive("load file=/nonexistent", NULL);
    expect_said(&said, "",
                "sacctmgr: error: No archive file given to recover.\n"
                " Problem loading archive file: No such file or directory\n"
                " Note: For archive load, the file must be accessible on the slurmdbd host.\n");
    assert_int_equal(smgr.status, 1);
    req = asked();
    assert_string_equal(req->file, "/nonexistent");
    pst__archive_request__free_unpacked(req, NULL);
    peer_refuse(&store, OP_ARCHIVE, SLURM_ERROR, "the disk is full");
    run_archive("dump jobs", NULL);
    expect_said(&said, "", " Problem dumping archive: the disk is full\n");
}

static void archive_after_failure(struct smgr *s, int n, char **words)
{
    s->status = 1;
    smgr_archive(s, n, words);
}

/* At the prompt, a command before it that failed does not keep it from being done. */
static void test_after_a_failure(void **state)
{
    (void)state;
    answer_nothing();
    run_line(&said, archive_after_failure, "dump jobs", NULL);
    expect_said(&said, "", DONE);
    pst__archive_request__free_unpacked(asked(), NULL);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, smgr_begin, smgr_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_dump), ONE(test_refusals),        ONE(test_question),
        ONE(test_load), ONE(test_after_a_failure),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
