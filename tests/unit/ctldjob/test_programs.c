/* test_programs.c - programs of the site beside the core: when they start, what they are given, how
 * they end */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/readfile.h"
#include "base/timefmt.h"
#include "ctld/core/corequeue.h"
#include "ctld/notify/programs.h"

#define WAIT_US (60 * USEC_PER_SEC)

struct site {
    char dir[64];
    struct ctld ctld;
    struct programs *programs;
};

/* What `done` saw of one program. */
struct outcome {
    int n, status;
    uint64_t ticket;
    char text[64], output[64];
};

static void note_done(struct ctld *ctld, const struct program *p)
{
    struct outcome *o = (struct outcome *)(uintptr_t)p->run_id;

    assert_non_null(ctld->queue);
    o->n++;
    o->status = p->status;
    o->ticket = p->ticket;
    (void)program_status_text(p, o->text, sizeof(o->text));
    (void)snprintf(o->output, sizeof(o->output), "%s", p->output ? p->output : "(none)");
}

static int setup_site(void **state)
{
    struct site *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    (void)snprintf(s->dir, sizeof(s->dir), "/tmp/penstock-programs-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    assert_int_equal(core_queue_new(&s->ctld.queue), 0);
    assert_int_equal(programs_new(&s->ctld, &s->programs), 0);
    *state = s;
    return 0;
}

static int remove_names(struct site *s)
{
    static const char *const names[] = { "1.sh", "2.sh", "out", "told" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char path[96];

        (void)snprintf(path, sizeof(path), "%s/%s", s->dir, names[i]);
        (void)unlink(path); /* not every test makes it */
    }
    return rmdir(s->dir);
}

static int teardown_site(void **state)
{
    struct site *s = *state;
    int r;

    s->programs = programs_free(s->programs);
    s->ctld.queue = core_queue_free(s->ctld.queue);
    r = remove_names(s);
    free(s);
    return r;
}

static const char *path_of(struct site *s, const char *name)
{
    static char path[2][96];
    static unsigned turn;
    char *p = path[turn++ % 2];

    (void)snprintf(p, sizeof(path[0]), "%s/%s", s->dir, name);
    return p;
}

static void write_script(struct site *s, const char *name, const char *body)
{
    int fd = open(path_of(s, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

    assert_true(fd >= 0);
    assert_true(dprintf(fd, "#!/bin/sh\n%s\n", body) > 0);
    assert_int_equal(close(fd), 0);
}

static void assert_file(struct site *s, const char *name, const char *text)
{
    _cleanup_free_ char *found = NULL;
    size_t len;

    assert_int_equal(readfile(path_of(s, name), 4096, &found, &len), 0);
    assert_string_equal(found, text);
}

static struct program *make_program(struct site *s, struct outcome *o)
{
    struct program *p = program_new(&s->ctld, "Prog");

    p->done = note_done;
    p->run_id = (uintptr_t)o;
    p->ticket = 77;
    return p;
}

/* The core's turn, until `done` was called. */
static void await_done(struct site *s, const struct outcome *o)
{
    const int64_t until = now_mono_us() + WAIT_US;

    while (!o->n) {
        struct cmd *cmd = core_queue_take(s->ctld.queue, until);

        assert_non_null(cmd);
        assert_int_equal(cmd->kind, CMD_CALL);
        cmd->drop = NULL; /* fn has arg now */
        cmd->fn(cmd->arg);
        cmd_free_list(cmd);
    }
    assert_int_equal(o->n, 1);
}

/* The file that a program is told of is there while it runs; arguments have no control characters,
 * but for texts that were looked at; nothing of our environment comes along. */
static void test_given(void **state)
{
    struct site *s = *state;
    struct outcome o = { 0 };
    struct program *p = make_program(s, &o);
    char script[256];

    (void)snprintf(script, sizeof(script),
                   "printf '<%%s>' \"$@\" \"$A\" \"$B\" \"${HOME-none}\" $(cat) $(cat $F) > %s",
                   path_of(s, "out"));
    write_script(s, "1.sh", script);
    program_path(p, path_of(s, "1.sh"));
    program_arg(p, "a\tb");
    program_arg_text(p, "c\nd");
    program_env(p, "A", "1\n2");
    program_env_line(p, "B", "1\n2");
    program_input(p, "lost");
    program_input(p, "stdin");
    program_file(p, "F", path_of(s, "told"), "file");
    assert_string_equal(program_arg_nth(p, 1), "c\nd");
    assert_null(program_arg_nth(p, 2));
    programs_add_take(s->programs, p);
    await_done(s, &o);
    assert_int_equal(o.status, 0);
    assert_int_equal(o.ticket, 77);
    assert_file(s, "out", "<a b><c\nd><1\n2><1 2><none><stdin><file>");
    /* Its ten seconds are not over; the end of the controller removes it. */
    assert_int_equal(access(path_of(s, "told"), F_OK), 0);
    s->programs = programs_free(s->programs);
    assert_int_equal(access(path_of(s, "told"), F_OK), -1);
}

/* It starts when its lsn is durable, not before. */
static void test_waits_for_lsn(void **state)
{
    struct site *s = *state;
    struct outcome first = { 0 }, second = { 0 };
    struct program *p = make_program(s, &first), *q = make_program(s, &second);

    p->lsn = 5;
    program_path(p, "/bin/true");
    program_arg(p, "");
    programs_add_take(s->programs, p);
    q->lsn = 3; /* the queue is in order: behind the first */
    program_path(q, "/bin/true");
    program_arg(q, "");
    programs_add_take(s->programs, q);
    programs_release(s->programs, 4);
    assert_null(core_queue_take(s->ctld.queue, now_mono_us() + 20000));
    programs_release(s->programs, 5);
    programs_release(s->programs, 2); /* an older report changes nothing */
    while (!first.n || !second.n) {
        struct cmd *cmd = core_queue_take(s->ctld.queue, now_mono_us() + WAIT_US);

        assert_non_null(cmd);
        for (struct cmd *c = cmd; c; c = c->next) {
            c->drop = NULL; /* fn has arg now */
            c->fn(c->arg);
        }
        cmd_free_list(cmd);
    }
    assert_int_equal(first.status, 0);
    assert_int_equal(second.status, 0);
}

/* A pattern stands for all its files, the last one first; the first failure ends the series. */
static void test_series(void **state)
{
    struct site *s = *state;
    struct outcome good = { 0 }, bad = { 0 };
    struct program *p = make_program(s, &good);
    char script[128];

    (void)snprintf(script, sizeof(script), "echo 1 >> %s", path_of(s, "out"));
    write_script(s, "1.sh", script);
    (void)snprintf(script, sizeof(script), "echo 2 >> %s; exit $RESULT", path_of(s, "out"));
    write_script(s, "2.sh", script);
    program_path(p, path_of(s, "?.sh"));
    program_arg(p, "");
    program_env(p, "RESULT", "0");
    programs_add_take(s->programs, p);
    await_done(s, &good);
    assert_int_equal(good.status, 0);
    assert_file(s, "out", "2\n1\n");
    p = make_program(s, &bad);
    program_path(p, path_of(s, "?.sh"));
    program_arg(p, "");
    program_env(p, "RESULT", "3");
    programs_add_take(s->programs, p);
    await_done(s, &bad);
    assert_string_equal(bad.text, "exit code 3");
    assert_file(s, "out", "2\n1\n2\n");
}

static void run_with(struct site *s, const char *path, int64_t limit_us, size_t output,
                     struct outcome *o)
{
    struct program *p = make_program(s, o);

    program_path(p, path);
    program_arg(p, "");
    p->limit_us = limit_us;
    if (output)
        program_output(p, output);
    programs_add_take(s->programs, p);
    await_done(s, o);
}

static void test_failures(void **state)
{
    struct site *s = *state;
    struct outcome missing = { 0 }, killed = { 0 }, late = { 0 };

    run_with(s, path_of(s, "nothing"), 0, 0, &missing);
    assert_string_equal(missing.text, "it could not be run");
    write_script(s, "1.sh", "kill -TERM $$");
    run_with(s, path_of(s, "1.sh"), 0, 0, &killed);
    assert_string_equal(killed.text, "signal 15");
    write_script(s, "1.sh", "while :; do :; done");
    run_with(s, path_of(s, "1.sh"), 20000, 0, &late);
    assert_string_equal(late.text, "signal 9");
}

/* What the last of a series printed counts, and nothing of what failed. */
static void test_output(void **state)
{
    struct site *s = *state;
    struct outcome kept = { 0 }, failed = { 0 }, more = { 0 };

    write_script(s, "1.sh", "echo one");
    write_script(s, "2.sh", "echo two");
    run_with(s, path_of(s, "?.sh"), 0, 100, &kept);
    assert_string_equal(kept.output, "one\n");
    write_script(s, "1.sh", "echo secret; exit 1");
    run_with(s, path_of(s, "1.sh"), 0, 100, &failed);
    assert_string_equal(failed.output, "(none)");
    write_script(s, "1.sh", "exec printf '%0100d' 0");
    run_with(s, path_of(s, "1.sh"), 0, 10, &more);
    assert_int_not_equal(more.status, 0); /* it cannot write more */
}

/* Without the thread nothing runs, and a program that nobody can be told of is only freed. */
static void test_none(void **state)
{
    struct site *s = *state;
    struct program *p = program_new(&s->ctld, "Prog");

    program_path(p, "/bin/false");
    programs_add_take(NULL, p);
    programs_release(NULL, 9);
    assert_null(programs_free(NULL));
    p = program_new(&s->ctld, "Prog"); /* still waits for its lsn at the end */
    p->lsn = 9;
    program_path(p, path_of(s, "out"));
    programs_add_take(s->programs, p);
    s->programs = programs_free(s->programs);
    assert_null(core_queue_take(s->ctld.queue, 0));
}

/* The controller ends between a program's end and its `done`: nothing is called, nothing leaks. */
static void test_never_told(void **state)
{
    struct site *s = *state;
    struct outcome o = { 0 };
    struct program *p = make_program(s, &o);
    struct cmd *cmd;

    program_path(p, "/bin/true");
    program_arg(p, "");
    programs_add_take(s->programs, p);
    cmd = core_queue_take(s->ctld.queue, now_mono_us() + WAIT_US);
    assert_non_null(cmd);
    cmd_free_list(cmd); /* as core_queue_free() does with what is left */
    assert_int_equal(o.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_given, setup_site, teardown_site),
        cmocka_unit_test_setup_teardown(test_waits_for_lsn, setup_site, teardown_site),
        cmocka_unit_test_setup_teardown(test_series, setup_site, teardown_site),
        cmocka_unit_test_setup_teardown(test_failures, setup_site, teardown_site),
        cmocka_unit_test_setup_teardown(test_output, setup_site, teardown_site),
        cmocka_unit_test_setup_teardown(test_none, setup_site, teardown_site),
        cmocka_unit_test_setup_teardown(test_never_told, setup_site, teardown_site),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
