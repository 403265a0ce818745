/* test_mail.c - mail to users: which events are mailed, to whom, and under what subject */
#include "ctld_util.h"

#include "ctld/notify/mail.h"

static const char cluster[] =
    "NodeName=n0 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

/* MailProg writes its arguments, and two variables, a line each time. */
static void write_program(const struct daemon *d)
{
    char path[96];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/mailer", d->dir);
    f = fopen(path, "we");
    assert_non_null(f);
    fprintf(f,
            "#!/bin/sh\n"
            "printf '<%%s>' \"$@\" >> %s/mails\n"
            "echo \" $SLURM_JOB_MAIL_TYPE $SLURM_JOB_STATE\" >> %s/mails\n",
            d->dir, d->dir);
    assert_int_equal(fchmod(fileno(f), 0755), 0);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    struct daemon *d = malloc(sizeof(*d));
    char extra[256];

    assert_non_null(d);
    (void)daemon_new(d);
    write_program(d);
    (void)snprintf(extra, sizeof(extra),
                   "SlurmdTimeout=600\nMailDomain=example.org\nMailProg=%s/mailer", d->dir);
    write_conf(d, extra, cluster);
    daemon_start(d, NULL, NULL);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct daemon *d = *state;
    int status = daemon_stop(d, SIGTERM);

    daemon_free(d);
    free(d);
    return status; /* not 0 when it leaked */
}

/* The mails so far, times made equal; freed by the caller. */
static char *mails(const struct daemon *d)
{
    char path[96], line[512];
    struct strbuf all = STRBUF_INIT;
    char *text = NULL;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/mails", d->dir);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        char *time = strstr(line, "time 00:00:");

        if (time)
            memcpy(time + 5, "hh:mm:ss", 8);
        strbuf_add(&all, line);
    }
    if (f)
        (void)fclose(f);
    assert_int_equal(strbuf_detach(&all, &text), 0);
    return text;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Wait for so many mails; freed by the caller. */
static char *wait_mails(struct daemon *d, size_t n)
{
    int64_t until = now_mono_us() + DEADLINE_US;
    char *text = mails(d);

    while (count_lines(text) < n && now_mono_us() < until) {
        (void)poll(NULL, 0, 10); /* between two looks */
        free(text);
        text = mails(d);
    }
    return text;
}

static void assert_mails(struct daemon *d, size_t n, const char *want)
{
    _cleanup_free_ char *text = wait_mails(d, n), *copy = strdup(want);
    char *rest = copy;

    /* Each line is there, and nothing else; programs of two mails may end in either order. */
    assert_non_null(copy);
    assert_int_equal(strlen(text), strlen(want));
    for (char *line; (line = strsep(&rest, "\n"));)
        assert_non_null(strstr(text, line));
}

static uint32_t submit_with(struct daemon *d, unsigned types, const char *rest)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "{'job':{'name':'x','mail_type':%u%s}}", types, rest);
    return submit(d, json);
}

static void test_good_run(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit_with(d, MAIL_BEGIN | MAIL_END | MAIL_FAIL, ",'mail_user':'a@b.c'");

    assert_int_equal(node_ended(n, id, STEP_BATCH, node_launched(n, id), 0, true), 0);
    assert_mails(d, 2,
                 "<-s><Slurm Job_id=1 Name=x Began, Queued time hh:mm:ss><a@b.c> Began RUNNING\n"
                 "<-s><Slurm Job_id=1 Name=x Ended, Run time hh:mm:ss, COMPLETED, ExitCode 0>"
                 "<a@b.c> Ended COMPLETED\n");
    node_free(n);
}

/* A failure is mailed as such where that was asked for, else as an end. */
static void test_bad_runs(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit_with(d, MAIL_END | MAIL_FAIL, ",'mail_user':'a'");

    assert_int_equal(node_ended(n, id, STEP_BATCH, node_launched(n, id), 3 << 8, true), 0);
    assert_mails(d, 1,
                 "<-s><Slurm Job_id=1 Name=x Failed, Run time hh:mm:ss, FAILED, ExitCode 3><a> "
                 "Failed FAILED\n");
    id = submit_with(d, MAIL_END, ",'mail_user':'a'");
    assert_int_equal(node_ended(n, id, STEP_BATCH, node_launched(n, id), 3 << 8, true), 0);
    assert_mails(d, 2,
                 "<-s><Slurm Job_id=1 Name=x Failed, Run time hh:mm:ss, FAILED, ExitCode 3><a> "
                 "Failed FAILED\n"
                 "<-s><Slurm Job_id=2 Name=x Ended, Run time hh:mm:ss, FAILED, ExitCode 3><a> "
                 "Ended FAILED\n");
    node_free(n);
}

/* What was not asked for is not mailed; without an address it goes to the user at MailDomain. */
static void test_what_was_asked(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    struct passwd *me = getpwuid(geteuid());
    char want[256];
    uint32_t id;

    assert_non_null(me);
    (void)snprintf(want, sizeof(want),
                   "<-s><Slurm Job_id=3 Name=x Began, Queued time hh:mm:ss><%s@example.org> Began "
                   "RUNNING\n",
                   me->pw_name);
    for (int i = 0; i < 2; i++) { /* nothing, and an event that does not come */
        id = submit_with(d, i ? MAIL_FAIL : 0, "");
        assert_int_equal(node_ended(n, id, STEP_BATCH, node_launched(n, id), 0, true), 0);
    }
    (void)node_launched(n, submit_with(d, MAIL_BEGIN, ""));
    assert_mails(d, 1, want);
    node_free(n);
}

static void test_requeue(void **state)
{
    static const char subject[] =
        "<-s><Slurm Job_id=1 Name=x Requeued, Run time hh:mm:ss><a> Requeued ";
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit_with(d, MAIL_REQUEUE, ",'mail_user':'a'");
    uint64_t run = node_launched(n, id);
    char *text;

    assert_int_equal(act(d, id, "REQUEUE"), 0);
    assert_int_equal(node_clean(n, id, run), 0);
    text = wait_mails(d, 1);
    assert_int_equal(strncmp(text, subject, sizeof(subject) - 1), 0);
    free(text);
    node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_good_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requeue, setup, teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
