/* test_dbdpass.c - the password at the database, as slurmdbd.conf has it or a program prints it */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "dbd/dbd.h"

struct place {
    char dir[32], conf[64], script[64];
};

static int begin_test(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    (void)snprintf(p->dir, sizeof(p->dir), "/tmp/dbdpass.XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    (void)snprintf(p->conf, sizeof(p->conf), "%s/slurmdbd.conf", p->dir);
    (void)snprintf(p->script, sizeof(p->script), "%s/tell", p->dir);
    *state = p;
    return 0;
}

static int end_test(void **state)
{
    struct place *p = *state;

    (void)unlink(p->conf);
    (void)unlink(p->script);
    assert_int_equal(rmdir(p->dir), 0);
    free(p);
    return 0;
}

static void put_file(const char *path, mode_t mode, const char *text, const char *more)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fprintf(f, "%s%s\n", text, more) > 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* The password with this line of slurmdbd.conf; *ret is NULL or the caller's. */
static int password(const struct place *p, const char *line, char **ret, struct err *err)
{
    struct conf_dbd *conf = NULL;
    int r;

    put_file(p->conf, 0600,
             "DbdHost=localhost\nStorageType=accounting_storage/mysql\n"
             "StorageHost=db1\nStoragePort=3307\nStorageUser=ada\n",
             line);
    if (conf_dbd_load(p->conf, &conf, NULL, err) < 0)
        fail_msg("%s", err->text);
    r = dbd_password(conf, ret, err);
    (void)conf_dbd_free(conf);
    return r;
}

static void expect_of_script(const struct place *p, const char *body, const char *want)
{
    char line[128];
    _cleanup_free_ char *pass = NULL;
    struct err err = { .text = "" };

    put_file(p->script, 0700, "#!/bin/sh\n", body);
    (void)snprintf(line, sizeof(line), "StoragePassScript=%s", p->script);
    if (password(p, line, &pass, &err) < 0)
        fail_msg("%s: %s", body, err.text);
    assert_string_equal(pass, want);
}

static void test_written_down(void **state)
{
    _cleanup_free_ char *pass = NULL;
    struct err err = { .text = "" };

    assert_int_equal(password(*state, "", &pass, &err), 0);
    assert_null(pass);
    assert_int_equal(password(*state, "StoragePass=open:sesame", &pass, &err), 0);
    assert_string_equal(pass, "open:sesame");
}

/* The first line, with the word that managers of tokens put before it, or without. */
static void test_printed(void **state)
{
    expect_of_script(*state, "echo secret", "secret");
    expect_of_script(*state, "printf secret", "secret");
    expect_of_script(*state, "printf 'secret\\r\\nmore\\n'", "secret");
    expect_of_script(*state, "echo TOKEN=a=b", "a=b");
    expect_of_script(*state, "printf sec; sleep 0.1; echo ret", "secret"); /* in two pieces */
    expect_of_script(*state, "echo $SLURM_STORAGE_HOSTNAME $SLURM_STORAGE_PORT $SLURM_STORAGE_USER",
                     "db1 3307 ada");
    expect_of_script(*state, "read x; echo \"<$x>\"", "<>"); /* there is nobody who types */
}

static void test_failures(void **state)
{
    static const struct {
        const char *body;
        int r;
        const char *says;
    } rows[] = {
        { "exit 3", -EINVAL, "failed" },
        { "echo secret; exit 1", -EINVAL, "failed" }, /* what it printed is not believed */
        { "kill -9 $$", -EINVAL, "failed" },
        { "exit 0", -EINVAL, "printed no password" },
        { "echo; echo secret", -EINVAL, "printed no password" },
    };
    const struct place *p = *state;
    char line[128];

    (void)snprintf(line, sizeof(line), "StoragePassScript=%s", p->script);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct err err = { .text = "" };
        char *pass = NULL;

        put_file(p->script, 0700, "#!/bin/sh\n", rows[i].body);
        assert_int_equal(password(p, line, &pass, &err), rows[i].r);
        assert_null(pass);
        assert_non_null(strstr(err.text, rows[i].says));
        assert_non_null(strstr(err.text, p->script));
        assert_null(strstr(err.text, "secret"));
    }
    for (int i = 0; i < 2; i++) { /* a program that is none, and none at all */
        struct err err = { .text = "" };
        char *pass = NULL;

        assert_int_equal(chmod(p->script, 0600), i ? -1 : 0);
        assert_int_equal(password(p, line, &pass, &err), i ? -ENOENT : -EACCES);
        assert_null(pass);
        (void)unlink(p->script);
    }
}

/* More than a password can be: it is not cut to one that somebody might guess. */
static void test_endless(void **state)
{
    const struct place *p = *state;
    struct err err = { .text = "" };
    char line[128], *pass = NULL;

    (void)snprintf(line, sizeof(line), "StoragePassScript=%s", p->script);
    put_file(p->script, 0700, "#!/bin/sh\n",
             "while :; do echo -n xxxxxxxxxxxxxxxx || exit 1; done");
    assert_true(password(p, line, &pass, &err) < 0);
    assert_null(pass);
    assert_non_null(strstr(err.text, "printed a line of more than 1022 bytes"));
    put_file(p->script, 0700, "#!/bin/sh\n",
             "i=0; while [ $i -lt 1100 ]; do printf x; i=$((i+1)); done");
    assert_true(password(p, line, &pass, &err) < 0);
    assert_null(pass);
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin_test, end_test)
    const struct CMUnitTest tests[] = {
        CASE(test_written_down),
        CASE(test_printed),
        CASE(test_failures),
        CASE(test_endless),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
