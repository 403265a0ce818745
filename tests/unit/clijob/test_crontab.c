/* test_crontab.c - the text of a crontab: options, variables, entries, mistakes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/scrontab/crontab.c" /* of the program: it is in no library */

static struct conf *load_conf(void)
{
    static const char text[] = "ClusterName=tux\nSlurmctldHost=h\nNodeName=n CPUs=1\n"
                               "PartitionName=p Nodes=n\n";
    struct conf_text file = { .name = "/etc/slurm/slurm.conf", .text = text };
    struct conf *c = NULL;

    file.len = strlen(text);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &c, NULL, NULL), 0);
    return c;
}

static unsigned read_text(const char *text, Pst__CrontabSetRequest *req)
{
    struct passwd alice = { .pw_name = (char *)"alice", .pw_dir = (char *)"/home/alice" };
    struct cli c;
    unsigned mistakes;

    cli_init(&c, "scrontab");
    c.conf = load_conf();
    pst__crontab_set_request__init(req);
    mistakes = crontab_read(&c, &alice, text, req);
    cli_done(&c);
    return mistakes;
}

static void free_request(Pst__CrontabSetRequest *req)
{
    for (size_t i = 0; i < req->n_jobs; i++)
        pst__crontab_job__free_unpacked(req->jobs[i], NULL);
    free(req->jobs);
}

/* The value of a variable of an entry; NULL: it has none. */
static const char *env_of(const Pst__CrontabJob *cj, const char *name)
{
    const ProtobufCBinaryData *e = &cj->submit->environment;
    size_t len = strlen(name);

    for (size_t at = 0; at < e->len; at += strlen((const char *)e->data + at) + 1) {
        const char *var = (const char *)e->data + at;

        if (strncmp(var, name, len) == 0 && var[len] == '=')
            return var + len + 1;
    }
    return NULL;
}

static void expect_script(const Pst__CrontabJob *cj, const char *want)
{
    assert_int_equal(cj->submit->script.len, strlen(want));
    assert_memory_equal(cj->submit->script.data, want, strlen(want));
}

/* As recorded: options are of the next entry alone; names are those of programs. */
static void test_entries(void **state)
{
    Pst__CrontabSetRequest req;
    const Pst__JobRecord *job;

    (void)state;
    assert_int_equal(read_text("# my jobs\n#SCRON -t 2\n#SCRON -J nightly\n0 3 * * * /bin/true\n"
                               "@hourly echo hi\n\n  \n*/5 1-3 * jan mon cd /tmp && ./run",
                               &req),
                     0);
    assert_int_equal(req.n_jobs, 3);
    job = req.jobs[0]->submit->job;
    assert_string_equal(req.jobs[0]->spec, "0 3 * * *");
    assert_int_equal(req.jobs[0]->first_line, 2);
    assert_int_equal(req.jobs[0]->last_line, 4);
    assert_string_equal(job->name, "nightly");
    assert_int_equal(job->time_limit_min, 2);
    assert_true(job->batch);
    assert_string_equal(job->work_dir, "/home/alice");
    assert_string_equal(job->open_mode, "a");
    assert_int_equal(job->alloc_sid, 4294967294u);
    expect_script(req.jobs[0], "#!/bin/sh\n/bin/true\n");

    job = req.jobs[1]->submit->job;
    assert_string_equal(req.jobs[1]->spec, "@hourly");
    assert_string_equal(job->name, "echo");
    assert_false(job->has_time_limit_min);
    assert_int_equal(req.jobs[1]->first_line, 5);
    assert_int_equal(req.jobs[1]->last_line, 5);
    expect_script(req.jobs[1], "#!/bin/sh\necho hi\n");

    assert_string_equal(req.jobs[2]->spec, "*/5 1-3 * jan mon");
    assert_string_equal(req.jobs[2]->submit->job->name, "cd");
    assert_int_equal(req.jobs[2]->last_line, 8);
    free_request(&req);
}

static void test_variables(void **state)
{
    Pst__CrontabSetRequest req;

    (void)state;
    assert_int_equal(read_text("@daily first\nSHELL=/bin/bash\nMAILTO = \"x y\"\nBASE='/data'\n"
                               "DIR=$BASE/${USER}/$NONE.x\nSTAR=a$\n@daily second\nMAILTO=\n"
                               "@daily third\n",
                               &req),
                     0);
    assert_int_equal(req.n_jobs, 3);
    assert_string_equal(env_of(req.jobs[0], "HOME"), "/home/alice");
    assert_string_equal(env_of(req.jobs[0], "USER"), "alice");
    assert_string_equal(env_of(req.jobs[0], "LOGNAME"), "alice");
    assert_string_equal(env_of(req.jobs[0], "SHELL"), "/bin/sh");
    assert_string_equal(env_of(req.jobs[0], "SLURM_CLUSTER_NAME"), "tux");
    assert_string_equal(env_of(req.jobs[0], "SLURM_SUBMIT_DIR"), "/home/alice");
    assert_null(env_of(req.jobs[0], "MAILTO")); /* of entries that follow */
    expect_script(req.jobs[0], "#!/bin/sh\nfirst\n");
    expect_script(req.jobs[1], "#!/bin/bash\nsecond\n");
    assert_string_equal(env_of(req.jobs[1], "MAILTO"), "x y");
    assert_string_equal(env_of(req.jobs[1], "DIR"), "/data/alice/.x");
    assert_string_equal(env_of(req.jobs[1], "STAR"), "a$");
    assert_string_equal(env_of(req.jobs[2], "MAILTO"), "");
    free_request(&req);
}

static void test_options(void **state)
{
    Pst__CrontabSetRequest req;

    (void)state;
    assert_int_equal(read_text("#SCRON --chdir=sub --open-mode=truncate -H\n#SCRONx\n@daily a\n"
                               "#SCRON\t-D /abs\n@daily /opt/x/prog -v; other\n@daily ;\n",
                               &req),
                     0);
    assert_string_equal(req.jobs[0]->submit->job->work_dir, "/home/alice/sub");
    assert_string_equal(req.jobs[0]->submit->job->open_mode, "t");
    assert_true(req.jobs[0]->submit->hold);
    assert_string_equal(req.jobs[1]->submit->job->work_dir, "/abs");
    assert_string_equal(req.jobs[1]->submit->job->name, "prog");
    assert_false(req.jobs[1]->submit->hold);
    assert_string_equal(req.jobs[2]->submit->job->name, "cron"); /* no program to name it by */
    free_request(&req);
}

/* How many mistakes there are, and all that is printed.  In a process of its own: crontab_read()
 * leaves what it began. */
static void expect_mistakes(const char *text, int want, const char *words)
{
    FILE *said = tmpfile();
    char got[2048] = "";
    int status;
    pid_t pid;

    assert_non_null(said);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        Pst__CrontabSetRequest req;

        (void)dup2(fileno(said), STDERR_FILENO);
        _exit((int)read_text(text, &req));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    rewind(said);
    got[fread(got, 1, sizeof(got) - 1, said)] = '\0';
    (void)fclose(said);
    if (WEXITSTATUS(status) != want || !strstr(got, words))
        fail_msg("%s: %d %s", text, WEXITSTATUS(status), got);
}

static void test_mistakes(void **state)
{
    (void)state;
    expect_mistakes("61 * * * * a\n", 1, "line 1: ");
    expect_mistakes("* * * a\n", 1, "line 1: ");
    expect_mistakes("\n0 3 * * *\n", 1, "line 2: there is no command after the times");
    expect_mistakes("@sometimes a\n", 1, "invalid @ line");
    expect_mistakes("*/0 * * * * a\n", 1, "bad step value");
    expect_mistakes("#SCRON --nosuch\n@daily a\n", 1,
                    "Invalid option found in #SCRON line: --nosuch");
    expect_mistakes("#SCRON -J 'a\n@daily a\n", 1, "line 1: a quote is not closed");
    expect_mistakes("#SCRON --array=1-3\n@daily a\n", 1,
                    "line 1: an entry of a crontab cannot be a job array");
    expect_mistakes("#SCRON --mem=x\n@daily a\n61 * * * * b\n", 2, "Invalid --mem specification");
}

/* So many entries, and no more. */
static void test_many(void **state)
{
    static char text[(CRONTAB_ENTRIES_MAX + 1) * 9 + 1];
    Pst__CrontabSetRequest req;

    (void)state;
    for (size_t i = 0; i <= CRONTAB_ENTRIES_MAX; i++)
        memcpy(text + i * 9, "@daily a\n", 9);
    text[CRONTAB_ENTRIES_MAX * 9] = '\0';
    assert_int_equal(read_text(text, &req), 0);
    assert_int_equal(req.n_jobs, CRONTAB_ENTRIES_MAX);
    free_request(&req);
    text[CRONTAB_ENTRIES_MAX * 9] = '@';
    expect_mistakes(text, 1, "line 4097: a crontab has at most 4096 entries");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries), cmocka_unit_test(test_variables),
        cmocka_unit_test(test_options), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_many),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("crontab", tests, NULL, NULL);
}
