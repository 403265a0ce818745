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

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_check),
                                               cmocka_unit_test(test_own_certificate),
                                               cmocka_unit_test(test_sound),
                                               cmocka_unit_test(test_seal) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
