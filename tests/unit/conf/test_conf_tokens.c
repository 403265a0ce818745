/* test_conf_tokens.c - AuthAltParameters: files and claims of tokens, the incumbent's usual key */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_tokens.h"

static char dir[64], file[96], usual[96];

static int setup(void **state)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/test_conf_tokens.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(file, sizeof(file), "%s/slurm.conf", dir);
    (void)snprintf(usual, sizeof(usual), "%s/jwt_hs256.key", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)unlink(file);
    (void)unlink(usual);
    return rmdir(dir);
}

static struct token_rules read_rules(const char *parameters)
{
    struct conf *conf = NULL;
    struct token_rules rules;
    struct err err = { .text = "" };
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    assert_true(fprintf(f,
                        "ClusterName=c\nSlurmctldHost=h\nStateSaveLocation=%s\n%s\nNodeName=n\n"
                        "PartitionName=p Nodes=n\n",
                        dir, parameters) > 0);
    assert_int_equal(fclose(f), 0);
    if (conf_load(file, CONF_FULL, &conf, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(conf_tokens(conf, &rules), 0);
    conf_free(conf);
    return rules;
}

static void test_nothing(void **state)
{
    struct token_rules r = read_rules("");

    assert_true(!r.key_file && !r.jwks_file && !r.jwt.user_claim && !r.jwt.client_ids &&
                !r.jwt.client_ids_only);
}

static void test_all(void **state)
{
    struct token_rules r =
        read_rules("AuthAltParameters=disable_token_creation,jwt_key=/a/b.key,JWKS=/c.json,"
                   "userclaimfield=email,use_jwt_client_ids_only");

    assert_string_equal(r.key_file, "/a/b.key");
    assert_string_equal(r.jwks_file, "/c.json");
    assert_string_equal(r.jwt.user_claim, "email");
    assert_true(r.jwt.client_ids_only && !r.jwt.client_ids);
    token_rules_done(&r);
    assert_null(r.key_file);
}

static void test_usual_key(void **state)
{
    struct token_rules r;
    FILE *f = fopen(usual, "w");

    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    r = read_rules("");
    assert_string_equal(r.key_file, usual);
    token_rules_done(&r);
    r = read_rules("AuthAltParameters=jwks=/c.json"); /* then no key makes tokens here */
    assert_null(r.key_file);
    token_rules_done(&r);
    assert_int_equal(unlink(usual), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_usual_key),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
