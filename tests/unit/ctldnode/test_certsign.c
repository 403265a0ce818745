/* test_certsign.c - who needs no token, what becomes of tokens, a controller without its scripts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf_util.h"
#include "ctld/core/service.h"
#include "ctld/node/certsign.h"
#include "ctld/node/certtoken.h"
#include "ctld/node/nodekeys.h"

extern const struct ctld_service certsign_service, nodekeys_service;

static int check(const char *lines, struct err *err)
{
    struct conf *c = conf_with_lines(lines);
    int r;

    err->text[0] = '\0';
    r = certsign_service.check(NULL, c, err);
    (void)conf_free(c); /* always NULL */
    return r;
}

static void test_check(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(check("", &err), 0);
    assert_int_equal(check("CertmgrType=certmgr/script", &err),
                     0); /* no TLSType: nothing to sign */
    assert_int_equal(check("CertmgrType=certmgr/script\nTLSType=tls/s2n", &err), -EINVAL);
    assert_non_null(strstr(err.text, "needs CertmgrParameters=sign_csr_script="));
    assert_int_equal(check("CertmgrType=certmgr/script\nTLSType=tls/s2n\n"
                           "CertmgrParameters=sign_csr_script=/a",
                           &err),
                     0);
}

/* A certificate says only that the authority knows somebody: the node's key says who. */
static void test_own_certificate(void **state)
{
    static char text[IDKEY_TEXT];
    static Pst__NodeRecord rec = PST__NODE_RECORD__INIT;
    static struct node node = { .rec = &rec };
    struct ctld ctld = { 0 };
    struct peer peer = { .certified = true,
                         .method = PST__AUTH_METHOD__AUTH_NODE,
                         .node_key = { 7 } };

    (void)state;
    assert_int_equal(nodekeys_service.start(&ctld, NULL), 0);
    idkey_text(peer.node_key, text);
    rec.node_id = 3;
    rec.node_key = text;
    nodekeys_service.on_node(&ctld, &node, PST__EVENT_KIND__EV_NODE_REGISTER);
    assert_true(certsign_needs_no_token(&ctld, &peer, 3));
    assert_false(certsign_needs_no_token(&ctld, &peer, 4));
    peer.certified = false;
    assert_false(certsign_needs_no_token(&ctld, &peer, 3));
    peer.certified = true;
    peer.method = PST__AUTH_METHOD__AUTH_KEY;
    assert_false(certsign_needs_no_token(&ctld, &peer, 3));
    peer.method = PST__AUTH_METHOD__AUTH_NODE;
    peer.node_key[0] = 8;
    assert_false(certsign_needs_no_token(&ctld, &peer, 3));
    nodekeys_service.free(&ctld);
}

static void test_sound(void **state)
{
    char much[1026];

    (void)state;
    memset(much, 'x', sizeof(much));
    much[1025] = '\0';
    assert_false(certtoken_is_sound(much));
    much[1024] = '\0';
    assert_true(certtoken_is_sound(much));
    assert_true(certtoken_is_sound("x"));
    assert_true(certtoken_is_sound("two words"));
    assert_false(certtoken_is_sound(""));
    assert_false(certtoken_is_sound("-x"));
    assert_false(certtoken_is_sound("a\nb"));
}

static void test_seal(void **state)
{
    char one[CERTTOKEN_SIZE], again[CERTTOKEN_SIZE];

    (void)state;
    assert_int_equal(certtoken_seal("secret", one), 0);
    assert_int_equal(certtoken_seal("secret", again), 0);
    assert_null(strstr(one, "secret"));
    assert_string_not_equal(one, again); /* salted */
    assert_true(certtoken_fits(one, "secret"));
    assert_true(certtoken_fits(again, "secret"));
    assert_false(certtoken_fits(one, "Secret"));
    assert_false(certtoken_fits(one, ""));
    assert_false(certtoken_fits(one, one));
    one[0] = one[0] == '0' ? '1' : '0';
    assert_false(certtoken_fits(one, "secret"));
    assert_false(certtoken_fits("", "secret"));
    assert_false(certtoken_fits("0:0", "secret"));
}

static void test_take(void **state)
{
    static const struct {
        const char *line, *token, *left; /* token NULL: none; "": refused */
    } cases[] = {
        { "NodeName=a CPUs=2", NULL, "NodeName=a CPUs=2" },
        { "NodeName=a CertToken=abc CPUs=2", "abc", "NodeName=a  CPUs=2" },
        { "certtoken=abc NodeName=a", "abc", " NodeName=a" },
        { "NodeName=a CertToken=\"two words\"", "two words", "NodeName=a " },
        { "NodeName=a Comment=\"x CertToken=abc\"", NULL,
          "NodeName=a Comment=\"x CertToken=abc\"" },
        { "NodeName=a MyCertToken=abc", NULL, "NodeName=a MyCertToken=abc" },
        { "NodeName=a CertToken=", "", NULL },
        { "NodeName=a CertToken=-x", "", NULL },
        { "NodeName=a CertToken=\"abc", "", NULL },
        { "NodeName=a CertToken=a CertToken=b", "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_free_ char *line = strdup(cases[i].line), *token = NULL;
        int want = !cases[i].token ? 0 : *cases[i].token ? 1 : -EINVAL;

        assert_int_equal(certtoken_take(line, &token), want);
        if (want == 1)
            assert_string_equal(token, cases[i].token);
        if (want >= 0)
            assert_string_equal(line, cases[i].left);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check), cmocka_unit_test(test_own_certificate),
        cmocka_unit_test(test_sound), cmocka_unit_test(test_seal), cmocka_unit_test(test_take)
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
