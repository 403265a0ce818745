/* test_scontrol_resize.c - files that set the variables of a shell after a change of size */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "scontrol_util.h"

static char dir[] = "/tmp/test_resize.XXXXXX";

static int begin_dir(void **state)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/test_resize.XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    return scontrol_begin(state);
}

static int end_dir(void **state)
{
    (void)unlink("slurm_job_7_resize.sh");
    (void)unlink("slurm_job_7_resize.csh");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
    (void)unsetenv("SLURM_JOB_ID");
    return scontrol_end(state);
}

static void write_resized(uint32_t job_id)
{
    scontrol.status = 0;
    output_begin(&said, NULL);
    scontrol_write_resized(&scontrol, job_id);
    output_end(&said);
}

static void expect_file(const char *path, const char *want)
{
    char text[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    assert_true(fd >= 0);
    n = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, want);
}

#define JOB                                                                                        \
    "{'job_id':7,'alloc':{'nodes':'n[1-3]','node_ids':[0,1,2],"                                    \
    "'groups':[{'nodes':2,'cpus':16},{'nodes':1,'cpus':8}]}}"

static void test_files(void **state)
{
    (void)state;
    (void)setenv("SLURM_JOB_ID", "7", 1);
    PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, JOB);
    write_resized(7);
    expect_said(&said,
                "To use the new size in this shell:\n"
                "  bash or sh:   . ./slurm_job_7_resize.sh\n"
                "  csh or tcsh:  source ./slurm_job_7_resize.csh\n",
                "");
    assert_int_equal(scontrol.status, 0);
    expect_file("slurm_job_7_resize.sh", "export SLURM_NODELIST=\"n[1-3]\"\n"
                                         "export SLURM_JOB_NODELIST=\"n[1-3]\"\n"
                                         "export SLURM_NNODES=\"3\"\n"
                                         "export SLURM_JOB_NUM_NODES=\"3\"\n"
                                         "export SLURM_JOB_CPUS_PER_NODE=\"16(x2),8\"\n"
                                         "unset SLURM_NPROCS\n"
                                         "unset SLURM_NTASKS\n"
                                         "unset SLURM_TASKS_PER_NODE\n");
    expect_file("slurm_job_7_resize.csh", "setenv SLURM_NODELIST \"n[1-3]\"\n"
                                          "setenv SLURM_JOB_NODELIST \"n[1-3]\"\n"
                                          "setenv SLURM_NNODES \"3\"\n"
                                          "setenv SLURM_JOB_NUM_NODES \"3\"\n"
                                          "setenv SLURM_JOB_CPUS_PER_NODE \"16(x2),8\"\n"
                                          "unsetenv SLURM_NPROCS\n"
                                          "unsetenv SLURM_NTASKS\n"
                                          "unsetenv SLURM_TASKS_PER_NODE\n");
    EXPECT_REQUEST(OP_QUERY_JOBS, query_request, "'job_ids':[7]");
}

/* Elsewhere there is nothing to set: not outside a job, not in another. */
static void test_elsewhere(void **state)
{
    (void)state;
    (void)unsetenv("SLURM_JOB_ID");
    write_resized(7);
    (void)setenv("SLURM_JOB_ID", "8", 1);
    write_resized(7);
    (void)setenv("SLURM_JOB_ID", "7x", 1);
    write_resized(7);
    expect_said(&said, "", "");
    assert_int_equal(access("slurm_job_7_resize.sh", F_OK), -1);
    assert_true(peer_is_quiet(&ctld));
}

static void test_failures(void **state)
{
    (void)state;
    (void)setenv("SLURM_JOB_ID", "7", 1);
    peer_refuse(&ctld, OP_QUERY_JOBS, 2017, NULL);
    write_resized(7);
    expect_said(&said, "", "slurm_load_jobs error: the new size of job 7 is not known\n");
    assert_int_equal(scontrol.status, 1);
    assert_int_equal(mkdir("slurm_job_7_resize.sh", 0700), 0);
    PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, JOB);
    write_resized(7);
    assert_string_equal(said.out, "");
    assert_int_equal(
        strncmp(said.err, "scontrol: error: slurm_job_7_resize.sh cannot be written: ", 58), 0);
    assert_int_equal(scontrol.status, 1);
    assert_int_equal(rmdir("slurm_job_7_resize.sh"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, begin_dir, end_dir),
        cmocka_unit_test_setup_teardown(test_elsewhere, begin_dir, end_dir),
        cmocka_unit_test_setup_teardown(test_failures, begin_dir, end_dir),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
