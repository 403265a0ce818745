/* test_confbundle.c - bundles: which are taken, what the cache makes of them, and of damage */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "configless/confbundle.h"
#include "configless/confcache.h"

static Pst__ConfBundle *bundle_of(const char *const *names, const char *text)
{
    struct conf_shared_file files[8] = { 0 };
    struct conf_shared s = { .files = files };
    Pst__ConfBundle *b;

    for (; names[s.n]; s.n++)
        files[s.n] = (struct conf_shared_file){ .name = (char *)(uintptr_t)names[s.n],
                                                .data = (char *)(uintptr_t)text,
                                                .len = strlen(text),
                                                .share = CONF_SHARE_NODE_SCRIPT };
    assert_int_equal(confbundle_make(&s, true, 7, &b), 0);
    return b;
}

static void test_names(void **state)
{
    static const struct {
        const char *names[4];
        bool good;
    } cases[] = {
        { { "slurm.conf" }, true },
        { { "slurm.conf", "a/b/c.conf", "a/d", "ab" }, true },
        { { "gres.conf" }, false },
        { { "slurm.conf", "slurm.conf" }, false },
        { { "slurm.conf", "../x" }, false },
        { { "slurm.conf", "a/../../x" }, false },
        { { "slurm.conf", "/etc/passwd" }, false },
        { { "slurm.conf", "a//b" }, false },
        { { "slurm.conf", "a/" }, false },
        { { "slurm.conf", "." }, false },
        { { "slurm.conf", ".bundle" }, false },
        { { "slurm.conf", "a/.b" }, false },
        { { "slurm.conf", "" }, false },
        { { "slurm.conf", "a b" }, false },
        { { "slurm.conf", "a\nb" }, false },
        { { "slurm.conf", "slurm.key" }, false },
        { { "slurm.conf", "slurm.jwks" }, false },
        { { "slurm.conf", "a", "a/b" }, false },
        { { "slurm.conf", "a/b", "a" }, false },
        { { "slurm.conf", "slurm.conf/a" }, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Pst__ConfBundle *b =
            bundle_of((const char *[]){ cases[i].names[0], cases[i].names[1], cases[i].names[2],
                                        cases[i].names[3], NULL },
                      "x");
        struct err err = { .text = "" };
        int r = confbundle_check(b, &err);

        if ((r == 0) != cases[i].good || (r == 0) != (err.text[0] == '\0'))
            fail_msg("case %zu: %d %s", i, r, err.text);
        pst__conf_bundle__free_unpacked(b, NULL);
    }
}

static void test_changed(void **state)
{
    Pst__ConfBundle *b = bundle_of((const char *[]){ "slurm.conf", "a", NULL }, "text");
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(confbundle_check(b, &err), 0);
    b->files[1]->data.data[0] ^= 1;
    assert_int_equal(confbundle_check(b, &err), -EINVAL);
    b->files[1]->data.data[0] ^= 1;
    b->files[1]->kind = PST__CONF_FILE_KIND__CONF_FILE_TASK_SCRIPT;
    assert_int_equal(confbundle_check(b, &err), -EINVAL);
    b->files[1]->kind = (Pst__ConfFileKind)9;
    assert_int_equal(confbundle_check(b, &err), -EINVAL);
    b->files[1]->kind = PST__CONF_FILE_KIND__CONF_FILE_NODE_SCRIPT;
    b->digest.len = 4;
    assert_int_equal(confbundle_check(b, &err), -EINVAL);
    pst__conf_bundle__free_unpacked(b, NULL);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static char root[] = "/tmp/confcache.XXXXXX";

static void test_cache(void **state)
{
    Pst__ConfBundle *one = bundle_of((const char *[]){ "slurm.conf", "d/a", NULL }, "one");
    Pst__ConfBundle *two = bundle_of((const char *[]){ "slurm.conf", "d/a", NULL }, "two"), *got;
    struct err err = { .text = "" };
    struct hostfiles host = { .path = { [HOSTFILE_KEY] = "/no/key" } };
    struct confcache c;
    struct stat st;
    char *conf, *other, path[256];
    int fd;

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(confcache_open(&c, root, &host, &err), 0);
    assert_int_equal(confcache_current(&c, &got, &conf, &err), -ENOENT);
    assert_int_equal(confcache_store(&c, one, &conf, &err), 0);
    assert_int_equal(confcache_current(&c, &got, &other, &err), -ENOENT); /* not switched */
    assert_int_equal(confcache_switch(&c, one, &err), 0);
    free(conf);
    assert_int_equal(confcache_current(&c, &got, &conf, &err), 0);
    assert_memory_equal(got->digest.data, one->digest.data, DIGEST_SIZE);
    assert_int_equal(got->since_us, 7);
    pst__conf_bundle__free_unpacked(got, NULL);
    (void)snprintf(path, sizeof(path), "%s/current/d/a", root);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC); /* damage */
    assert_int_equal(write(fd, "bad", 3), 3);
    (void)close(fd);
    assert_int_equal(confcache_current(&c, &got, &other, &err), -EINVAL);
    assert_int_equal(confcache_store(&c, one, &other, &err), 0); /* written anew */
    assert_string_equal(conf, other);
    free(other);
    assert_int_equal(confcache_current(&c, &got, &other, &err), 0);
    pst__conf_bundle__free_unpacked(got, NULL);
    free(other);
    assert_int_equal(confcache_store(&c, two, &other, &err), 0);
    assert_int_equal(confcache_switch(&c, two, &err), 0);
    assert_int_equal(stat(conf, &st), 0); /* what runs with it goes on */
    confcache_clean(&c);
    assert_int_equal(stat(conf, &st), -1);
    assert_int_equal(stat(other, &st), 0);
    free(conf);
    free(other);
    confcache_done(&c);
    pst__conf_bundle__free_unpacked(one, NULL);
    pst__conf_bundle__free_unpacked(two, NULL);
}

/* A link to a folder elsewhere, and a folder that others may write. */
static void test_hostile_cache(void **state)
{
    struct err err = { .text = "" };
    Pst__ConfBundle *got;
    struct confcache c;
    char *conf, path[256];

    (void)state;
    assert_int_equal(confcache_open(&c, root, NULL, &err), 0);
    (void)snprintf(path, sizeof(path), "%s/current", root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("../../tmp/elsewhere", path), 0);
    assert_int_equal(confcache_current(&c, &got, &conf, &err), -EINVAL);
    confcache_done(&c);
    assert_int_equal(chmod(root, 0777), 0);
    assert_int_equal(confcache_open(&c, root, NULL, &err), -EACCES);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(confcache_open(&c, "/dev/null/x", NULL, &err), -ENOTDIR);
}

static int remove_root(void **state)
{
    char *argv[] = { "rm", "-rf", root, NULL };
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(1);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_hostile_cache),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, remove_root);
}
