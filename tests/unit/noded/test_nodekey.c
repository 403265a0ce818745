/* test_nodekey.c - whom a node believes to be the controller */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf_util.h"
#include "noded/link/nodekey.h"

static char folder[] = "/tmp/test-nodekey-XXXXXX";

static void test_trust(void **state)
{
    char conf[128], given[128], learnt[128], key_file[128];
    struct noded d = { .spool = folder, .name = (char *)"n1", .conf_file = conf };
    uint8_t first[IDKEY_SIZE] = { 1 }, second[IDKEY_SIZE] = { 2 }, own[IDKEY_SIZE];
    struct conf *pinned = conf_with_lines("PinNodeKeys=yes"), *learning = conf_with_lines("");
    struct err err = { .text = "" };
    FILE *f;

    (void)state;
    d.conf = pinned;
    (void)snprintf(conf, sizeof(conf), "%s/none/slurm.conf", folder);
    (void)snprintf(learnt, sizeof(learnt), "%s/slurmctld.pub", folder);
    (void)snprintf(key_file, sizeof(key_file), "%s/node-n1.key", folder);
    assert_int_equal(nodekey_load(&d, &err), 0);
    assert_non_null(d.identity);
    assert_null(nodekey_controller(&d));
    memcpy(own, idkey_public(d.identity), IDKEY_SIZE);

    assert_false(nodekey_learn(&d, first, IDKEY_SIZE - 1));
    assert_null(nodekey_controller(&d));
    assert_true(nodekey_learn(&d, first, IDKEY_SIZE));
    assert_false(nodekey_learn(&d, second, IDKEY_SIZE)); /* another controller later */
    assert_memory_equal(nodekey_controller(&d), first, IDKEY_SIZE);
    nodekey_done(&d);

    /* the next start */
    d.has_controller_key = false;
    assert_int_equal(nodekey_load(&d, &err), 0);
    assert_memory_equal(nodekey_controller(&d), first, IDKEY_SIZE);
    assert_memory_equal(idkey_public(d.identity), own, IDKEY_SIZE);
    d.conf = learning; /* another controller may come */
    assert_true(nodekey_may_relearn(&d));
    assert_false(nodekey_learn(&d, first, IDKEY_SIZE)); /* nothing new */
    assert_true(nodekey_learn(&d, second, IDKEY_SIZE));
    assert_memory_equal(nodekey_controller(&d), second, IDKEY_SIZE);
    nodekey_done(&d);

    /* a file that is there and cannot be read is not passed over */
    f = fopen(learnt, "w");
    assert_non_null(f);
    assert_true(fputs("ed25519:00\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(nodekey_load(&d, &err), -EINVAL);
    assert_non_null(strstr(err.text, learnt));
    nodekey_done(&d);

    /* what the administrator gave comes first */
    (void)snprintf(conf, sizeof(conf), "%s/etc/slurm.conf", folder);
    (void)snprintf(given, sizeof(given), "%s/etc", folder);
    assert_int_equal(mkdir(given, 0700), 0);
    (void)snprintf(given, sizeof(given), "%s/etc/slurmctld.pub", folder);
    assert_int_equal(idkey_write_public(given, second, NULL), 0);
    assert_int_equal(nodekey_load(&d, &err), 0);
    assert_memory_equal(nodekey_controller(&d), second, IDKEY_SIZE);
    assert_false(nodekey_may_relearn(&d)); /* what was given is pinned in any case */
    assert_false(nodekey_learn(&d, first, IDKEY_SIZE));
    nodekey_done(&d);
    conf_free(pinned);
    conf_free(learning);
    assert_int_equal(unlink(given), 0);
    assert_int_equal(unlink(learnt), 0);
    assert_int_equal(unlink(key_file), 0);
    (void)snprintf(given, sizeof(given), "%s/etc", folder);
    assert_int_equal(rmdir(given), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_trust) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (!mkdtemp(folder))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
