/* test_conf_dbd.c - slurmdbd.conf: values, ages and ranges, what AuthInfo names, and whose eyes the
 * file is for */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/conf_dbd.h"

struct place {
    char dir[64], file[96];
    char user[64]; /* SlurmUser=: we ourselves, to whom the file belongs */
};

static int make_place(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    (void)snprintf(p->dir, sizeof(p->dir), "/tmp/penstock-dbd-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    (void)snprintf(p->file, sizeof(p->file), "%s/slurmdbd.conf", p->dir);
    (void)snprintf(p->user, sizeof(p->user), "SlurmUser=%u\n", getuid());
    *state = p;
    return 0;
}

static int remove_place(void **state)
{
    struct place *p = *state;

    (void)unlink(p->file);
    (void)rmdir(p->dir);
    free(p);
    return 0;
}

static int load_text(struct place *p, const char *text, mode_t mode, struct conf_dbd **ret,
                     struct err *err)
{
    _cleanup_fclose_ FILE *f = fopen(p->file, "w");
    struct conf_problems problems;
    int r;

    assert_non_null(f);
    assert_true(fputs(p->user, f) >= 0 && fputs(text, f) >= 0);
    assert_int_equal(fflush(f), 0);
    assert_int_equal(chmod(p->file, mode), 0);
    r = conf_dbd_load(p->file, ret, &problems, err);
    conf_problems_done(&problems);
    return r;
}

static struct conf_dbd *load_good(struct place *p, const char *text)
{
    struct err err = { .text = "" };
    struct conf_dbd *c = NULL;
    int r = load_text(p, text, 0600, &c, &err);

    if (r < 0)
        print_error("# %s: %s\n", text, err.text);
    assert_int_equal(r, 0);
    return c;
}

static void test_values(void **state)
{
    struct place *p = *state;
    struct conf_dbd *c = load_good(p, "StorageHost=db1 # there\nDbdPort=7000\nAllowNoDefAcct=yes\n"
                                      "AuthType=auth/munge\nAuthAltTypes=auth/jwt\n"
                                      "AuthInfo=ttl=5,socket=/run/m.sock,KeyFile=/etc/k\n");

    assert_string_equal(conf_dbd_str(c, CONF_DBD_STORAGE_HOST), "db1");
    assert_int_equal(conf_dbd_num(c, CONF_DBD_DBD_PORT), 7000);
    assert_true(conf_dbd_bool(c, CONF_DBD_ALLOW_NO_DEF_ACCT));
    assert_int_equal(conf_dbd_slurm_uid(c), getuid());
    assert_true(conf_dbd_use_munge(c) && conf_dbd_use_jwt(c));
    assert_string_equal(conf_dbd_munge_socket(c), "/run/m.sock");
    assert_string_equal(conf_dbd_key_file(c), "/etc/k");
    assert_null(conf_dbd_free(c));
}

static void test_defaults(void **state)
{
    struct place *p = *state;
    struct conf_dbd *c = load_good(p, "");
    char key[128];

    assert_string_equal(conf_dbd_str(c, CONF_DBD_STORAGE_HOST), "localhost");
    assert_int_equal(conf_dbd_num(c, CONF_DBD_DBD_PORT), 6819);
    assert_false(conf_dbd_bool(c, CONF_DBD_ALLOW_NO_DEF_ACCT));
    assert_null(conf_dbd_str(c, CONF_DBD_STORAGE_PASS));
    assert_false(conf_dbd_use_munge(c) || conf_dbd_use_jwt(c));
    assert_null(conf_dbd_munge_socket(c));
    (void)snprintf(key, sizeof(key), "%s/slurm.key", p->dir); /* beside the file */
    assert_string_equal(conf_dbd_key_file(c), key);
    assert_int_equal(conf_dbd_age(c, CONF_DBD_PURGE_JOB_AFTER), 0);
    assert_int_equal(conf_dbd_max_range_s(c), 0);
    conf_dbd_free(c);
    assert_null(conf_dbd_free(NULL));
}

static const struct {
    const char *text;
    uint64_t hours;
} ages[] = {
    { "12months", 12 * 30 * 24 },
    { "12", 12 * 30 * 24 },
    { "1month", 30 * 24 },
    { "30days", 720 },
    { "2Day", 48 },
    { "48hours", 48 },
    { "6h", 6 },
};

static void test_ages(void **state)
{
    struct place *p = *state;
    struct conf_dbd *c;
    char line[128];

    for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
        (void)snprintf(line, sizeof(line), "PurgeJobAfter=%s\n", ages[i].text);
        c = load_good(p, line);
        assert_int_equal(conf_dbd_age(c, CONF_DBD_PURGE_JOB_AFTER), ages[i].hours);
        conf_dbd_free(c);
    }
    c = load_good(p, "MaxQueryTimeRange=7-0\n");
    assert_int_equal(conf_dbd_max_range_s(c), 7 * 24 * 3600);
    conf_dbd_free(c);
    c = load_good(p, "MaxQueryTimeRange=INFINITE\n");
    assert_int_equal(conf_dbd_max_range_s(c), 0);
    conf_dbd_free(c);
}

static const struct {
    const char *text, *told; /* in the sentence */
} bad[] = {
    { "PurgeJobAfter=0\n", "is no age" },
    { "PurgeJobAfter=soon\n", "soon is no age" },
    { "PurgeTXNAfter=3weeks\n", "3weeks is no age" },
    { "PurgeStepAfter=1000000days\n", "is no age" },
    { "MaxQueryTimeRange=long\n", "long is no time" },
    { "DbdPort=70000\n", "DbdPort=70000 is out of range" },
    { "Wombat=1\n", "unknown key Wombat" },
    { "DbdPort\n", "expected Key=Value" },
    { "SlurmUser=no-such-user-here\n", "no-such-user-here" },
};

static void test_bad(void **state)
{
    struct place *p = *state;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };
        struct conf_dbd *c = NULL;

        assert_int_equal(load_text(p, bad[i].text, 0600, &c, &err), -EINVAL);
        assert_null(c);
        if (!strstr(err.text, bad[i].told))
            print_error("# %s: %s\n", bad[i].text, err.text);
        assert_non_null(strstr(err.text, bad[i].told));
    }
}

static void test_owner(void **state)
{
    static const struct {
        mode_t mode;
        int r;
    } modes[] = { { 0600, 0 }, { 0640, 0 }, { 0400, 0 }, { 0644, -EACCES }, { 0660, -EACCES } };
    struct place *p = *state;
    struct err err = { .text = "" };
    struct conf_dbd *c = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        c = NULL;
        assert_int_equal(load_text(p, "", modes[i].mode, &c, &err), modes[i].r);
        assert_int_equal(modes[i].r == 0, c != NULL);
        conf_dbd_free(c);
    }
    assert_non_null(strstr(err.text, "should be 600"));
    if (getuid() == 0) { /* of somebody who is neither root nor SlurmUser */
        assert_int_equal(load_text(p, "", 0600, &c, &err), 0);
        conf_dbd_free(c);
        c = NULL;
        assert_int_equal(chown(p->file, 12345, (gid_t)-1), 0);
        assert_int_equal(conf_dbd_load(p->file, &c, NULL, &err), -EACCES);
        assert_non_null(strstr(err.text, "not owned by SlurmUser"));
    }
    (void)unlink(p->file);
    assert_int_equal(conf_dbd_load(p->file, &c, NULL, &err), -ENOENT);
    assert_non_null(strstr(err.text, p->file));
}

struct told {
    size_t n, pass, host;
};

static void note_value(void *ctx, const char *name, const char *value)
{
    struct told *t = ctx;

    t->n++;
    if (strcmp(name, "StoragePass") == 0) {
        assert_string_equal(value, "********");
        t->pass++;
    }
    if (strcmp(name, "StorageHost") == 0) {
        assert_string_equal(value, "localhost");
        t->host++;
    }
}

static void test_each(void **state)
{
    struct place *p = *state;
    struct conf_dbd *c = load_good(p, "StoragePass=secret\n");
    struct told t = { 0 };

    conf_dbd_each(c, note_value, &t);
    assert_int_equal(t.n, CONF_DBD_MAX_);
    assert_int_equal(t.pass, 1);
    assert_int_equal(t.host, 1);
    assert_string_equal(conf_dbd_str(c, CONF_DBD_STORAGE_PASS), "secret");
    conf_dbd_free(c);
}

static void test_default_path(void **state)
{
    char *path = NULL;

    (void)state;
    assert_int_equal(setenv("SLURM_CONF", "/srv/etc/slurm.conf", 1), 0);
    assert_int_equal(conf_dbd_default_path(&path), 0);
    assert_string_equal(path, "/srv/etc/slurmdbd.conf");
    free(path);
    assert_int_equal(unsetenv("SLURM_CONF"), 0);
}

/* Keys that files of earlier releases have, and those that daemons with plugins need. */
static void test_older(void **state)
{
    struct place *p = *state;
    struct conf_dbd *c = load_good(p, "PurgeJobMonths=12\nPurgeTXNMonths=2\n"
                                      "PluginDir=/usr/lib64/slurm\nHashPlugin=hash/k12\n"
                                      "CommunicationParameters=EnableIPv6\n");

    assert_int_equal(conf_dbd_age(c, CONF_DBD_PURGE_JOB_AFTER), 12 * 30 * 24);
    assert_int_equal(conf_dbd_age(c, CONF_DBD_PURGE_TXN_AFTER), 2 * 30 * 24);
    assert_int_equal(conf_dbd_age(c, CONF_DBD_PURGE_STEP_AFTER), 0);
    assert_null(conf_dbd_free(c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_defaults, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_ages, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_older, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_bad, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_owner, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_each, make_place, remove_place),
        cmocka_unit_test(test_default_path),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
