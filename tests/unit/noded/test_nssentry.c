/* test_nssentry.c - what a step tells of its job's user */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "noded/plan/nssentry.h"
#include "nss/nsstext.h"

/* No host has these numbers. */
static uint32_t gids[1024] = { 3999999001u, 3999999002u };

static int put(Pst__ClientIdent *id, Pst__JobRecord *j, char **ret)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    int r;

    j->has_uid = j->has_gid = true;
    j->client_ident = id;
    on.job = j;
    r = nssentry_put(&sb, &on);
    return r < 0 ? r : strbuf_detach(&sb, ret);
}

static void test_told(void **state)
{
    Pst__ClientIdent id = PST__CLIENT_IDENT__INIT;
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    _cleanup_free_ char *text = NULL;
    struct nss_user u;

    (void)state;
    j.uid = 3999999000u;
    j.gid = 3999999001u;
    id.name = (char *)"ann";
    id.gecos = (char *)"Ann: of\nroom 2"; /* would be two fields and two lines */
    id.home = (char *)"/home/ann";
    id.shell = (char *)"sh";
    id.gids = gids;
    id.n_gids = 2;
    assert_int_equal(put(&id, &j, &text), 0);
    assert_string_equal(
        text, NSSTEXT_HEAD
        "ann:3999999000:3999999001::/home/ann:\n3999999001:3999999001\n3999999002:3999999002\n");
    /* and libnss_slurm takes it */
    assert_true(nsstext_parse(text, strlen(text), &u));
    assert_string_equal(u.name, "ann");
}

static void test_most_groups(void **state)
{
    Pst__ClientIdent id = PST__CLIENT_IDENT__INIT;
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    _cleanup_free_ char *text = NULL;

    (void)state;
    for (size_t i = 0; i < 1024; i++)
        gids[i] = 3999999000u + (uint32_t)i;
    j.uid = j.gid = 3999999000u;
    id.name = (char *)"ann";
    id.gids = gids;
    id.n_gids = 1024;
    assert_int_equal(put(&id, &j, &text), 0);
    assert_true(strlen(text) < NSSTEXT_MAX);
}

static void test_not_told(void **state)
{
    static const char *const names[] = { "root", "a b", "a:b", "", "a/b" };
    Pst__ClientIdent id = PST__CLIENT_IDENT__INIT;
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    char *text = NULL;

    (void)state;
    id.gids = gids;
    id.n_gids = 1;
    j.uid = 3999999000u;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        id.name = (char *)names[i];
        assert_int_equal(put(&id, &j, &text), -ENODATA);
    }
    assert_int_equal(put(NULL, &j, &text), -ENODATA); /* nobody knows him */
    j.uid = 0;
    id.name = (char *)"ann";
    assert_int_equal(put(&id, &j, &text), -ENODATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_most_groups),
        cmocka_unit_test(test_not_told),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
