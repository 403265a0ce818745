/* test_fedview.c - the federation as commands show it: who is asked, what is printed, and answers
 * that name no other cluster; several clusters are tested with real daemons */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/base/fedview.h"
#include "cli/query/elsewhere.h"
#include "cli/query/fedprint.h"
#include "cli/query/out_job.h"
#include "wire/errors.h"

static void print_info(const Pst__FedInfo *info, char **ret)
{
    size_t len;
    FILE *f = open_memstream(ret, &len);

    assert_non_null(f);
    federation_print(f, info);
    assert_int_equal(fclose(f), 0);
}

static void test_print(void **state)
{
    char *features[] = { (char *)"x", (char *)"y" };
    Pst__FedMember self = PST__FED_MEMBER__INIT, other = PST__FED_MEMBER__INIT;
    Pst__FedMember *list[] = { &self, &other };
    Pst__FedInfo info = PST__FED_INFO__INIT;
    _cleanup_free_ char *none = NULL, *text = NULL;

    (void)state;
    print_info(&info, &none);
    assert_string_equal(none, "");
    self.name = (char *)"aa";
    self.host = (char *)"10.0.0.1";
    self.port = 6817;
    self.fed_id = 1;
    self.fed_state = 1;
    other = self;
    other.name = (char *)"bb";
    other.fed_id = 2;
    other.fed_state = 1 | 16 | 32;
    other.features = features;
    other.n_features = 2;
    other.sends = true;
    info.name = (char *)"f1";
    info.members = list;
    info.n_members = 2;
    print_info(&info, &text);
    assert_string_equal(text, "Federation: f1\n"
                              "Self:       aa:10.0.0.1:6817 ID:1 FedState:ACTIVE Features:\n"
                              "Sibling:    bb:10.0.0.1:6817 ID:2 FedState:DRAIN+REMOVE "
                              "Features:x,y PersistConnSend/Recv:Yes/No Synced:No\n");
}

/* --local wins over the others, and nobody is asked then. */
static void test_local(void **state)
{
    const struct fedview none = { 0 },
                         local = { .federation = true, .sibling = true, .local = true };
    char path[] = "/tmp/test_fedview.XXXXXX";
    int fd = mkstemp(path);
    struct clusters cl;
    char **names = NULL;
    size_t n_names = 0;
    struct cli c;

    (void)state;
    assert_true(fd >= 0);
    assert_true(write(fd, "ClusterName=mine\nSlurmctldHost=localhost\n", 41) == 41);
    assert_int_equal(close(fd), 0);
    assert_int_equal(setenv("SLURM_CONF", path, 1), 0);
    cli_init(&c, "test");
    assert_false(fedview_find(&c, &none, &cl));
    assert_int_equal(cl.n, 0);
    assert_false(fedview_find(&c, &local, &cl));
    assert_int_equal(cl.n, 0);
    fedview_add_names(&c, &none, &names, &n_names);
    fedview_add_names(&c, &local, &names, &n_names);
    assert_int_equal(n_names, 0);
    cli_done(&c);
    assert_int_equal(unlink(path), 0);
}

/* Of a job that waits the origin's record tells, of one that runs elsewhere that cluster's. */
static void test_copies(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    struct job_row at_origin = { .job = &job, .cluster = "AA" },
                   at_sibling = { .job = &job, .cluster = "bb" }, somewhere = { .job = &job };

    (void)state;
    job.state = PST__JOB_STATE__JOB_PENDING;
    assert_false(job_is_copy(&at_sibling)); /* of no federation */
    job.fed_origin = (char *)"aa";
    assert_false(job_is_copy(&at_origin));
    assert_true(job_is_copy(&at_sibling));
    assert_false(job_is_copy(&somewhere));
    job.state = PST__JOB_STATE__JOB_RUNNING;
    assert_false(job_is_copy(&at_sibling));
    job.state_flags = 1u << PST__JOB_FLAG__JOB_FLAG_REVOKED;
    assert_true(job_is_copy(&at_origin));
    assert_true(job_is_copy(&somewhere));
}

/* Results that name no cluster stay, whatever their code, and so does the request. */
static void test_nobody_else(void **state)
{
    Pst__JobActionResult good = PST__JOB_ACTION_RESULT__INIT, lost = good;
    Pst__JobActionResult *list[] = { &good, &lost };
    Pst__JobActionReply reply = PST__JOB_ACTION_REPLY__INIT;
    Pst__JobActionRequest act = PST__JOB_ACTION_REQUEST__INIT;
    Pst__JobUpdateRequest update = PST__JOB_UPDATE_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct cli c = { 0 };

    (void)state;
    lost.code = EPST_OTHER_CLUSTER;
    reply.results = list;
    reply.n_results = 2;
    act.filter = &filter;
    elsewhere_act(&c, &act, &reply);
    elsewhere_update(&c, &update, &reply);
    assert_ptr_equal(act.filter, &filter);
    assert_int_equal(act.n_ids, 0);
    assert_ptr_equal(list[0], &good);
    assert_ptr_equal(list[1], &lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_nobody_else),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
