/* test_dmntokens.c - the sentence names the key and the file that is missing */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/dmntokens.h"

static void test_missing_file(void **state)
{
    char file[] = "/tmp/test_dmntokens.XXXXXX";
    struct auth_tokens *tokens = NULL;
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    int fd = mkstemp(file);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

    assert_non_null(f);
    assert_true(fputs("ClusterName=c\nSlurmctldHost=h\nAuthAltParameters=jwks=/nonexistent/set\n"
                      "AuthAltTypes=auth/jwt\n"
                      "NodeName=n\nPartitionName=p Nodes=n\n",
                      f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(conf_load(file, CONF_FULL, &conf, NULL, &err), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(daemon_tokens(conf, NULL, &tokens, &err), -ENOENT);
    assert_string_equal(err.text, "AuthAltParameters: /nonexistent/set: No such file or directory");
    assert_null(tokens);
    conf_free(conf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_missing_file) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
