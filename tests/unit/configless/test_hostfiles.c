/* test_hostfiles.c - which files of a host are found, and the links that lead to them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "configless/hostfiles.h"

static char folder[] = "/tmp/hostfiles.XXXXXX";
static char conf[64], ca[64];

static int make_folder(void **state)
{
    int fd;

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(conf, sizeof(conf), "%s/slurm.conf", folder);
    (void)snprintf(ca, sizeof(ca), "%s/ca_cert.pem", folder);
    fd = open(ca, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 ? -1 : close(fd);
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(ca);
    return rmdir(folder);
}

static void test_find(void **state)
{
    struct err err = { .text = "" };
    struct hostfiles h;

    (void)state;
    assert_int_equal(hostfiles_find(conf, NULL, NULL, &h, &err), 0);
    assert_string_equal(h.path[HOSTFILE_CA], ca);
    assert_null(h.path[HOSTFILE_KEY]);
    assert_null(h.path[HOSTFILE_CERT]);
    hostfiles_done(&h);
    assert_int_equal(hostfiles_find("/no/such/slurm.conf", "/a/key", ca, &h, &err), 0);
    assert_string_equal(h.path[HOSTFILE_CA], ca);
    assert_string_equal(h.path[HOSTFILE_KEY], "/a/key");
    hostfiles_done(&h);
}

static void test_refused_ca(void **state)
{
    struct err err = { .text = "" };
    struct hostfiles h;

    (void)state;
    assert_int_equal(hostfiles_find(conf, NULL, "ca_cert.pem", &h, &err), -EINVAL);
    assert_non_null(strstr(err.text, "wants an absolute path, not \"ca_cert.pem\""));
    assert_int_equal(hostfiles_find(conf, NULL, "/no/such/ca.pem", &h, &err), -ENOENT);
    assert_non_null(strstr(err.text, "--ca-cert-file /no/such/ca.pem: No such file"));
}

static void test_links(void **state)
{
    struct hostfiles h = { .path = { [HOSTFILE_CERT] = "/a", [HOSTFILE_CERT_KEY] = "/b" } }, copy;
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char to[PATH_MAX] = "";

    (void)state;
    assert_int_equal(unlink(ca), 0);
    assert_int_equal(hostfiles_link(&h, dir), 0);
    assert_int_equal(hostfiles_link(&h, dir), 0); /* again: nothing changes */
    assert_int_equal(readlinkat(dir, "slurmd_cert.pem", to, sizeof(to)), 2);
    assert_memory_equal(to, "/a", 2);
    assert_int_equal(hostfiles_copy(&h, &copy), 0);
    free(copy.path[HOSTFILE_CERT]);
    copy.path[HOSTFILE_CERT] = strdup("/other");
    free(copy.path[HOSTFILE_CERT_KEY]);
    copy.path[HOSTFILE_CERT_KEY] = NULL;
    assert_int_equal(hostfiles_link(&copy, dir), 0);
    assert_int_equal(readlinkat(dir, "slurmd_cert.pem", to, sizeof(to)), 6);
    assert_int_equal(readlinkat(dir, "slurmd_cert_key.pem", to, sizeof(to)), -1);
    assert_int_equal(unlinkat(dir, "slurmd_cert.pem", 0), 0);
    assert_int_equal(mkdirat(dir, "slurmd_cert.pem", 0700), 0); /* not ours to replace */
    assert_int_equal(hostfiles_link(&copy, dir), -EEXIST);
    assert_int_equal(unlinkat(dir, "slurmd_cert.pem", AT_REMOVEDIR), 0);
    hostfiles_done(&copy);
    (void)close(dir);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find), cmocka_unit_test(test_refused_ca),
        cmocka_unit_test(test_links), /* takes the file away */
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
