/* test_nodekeys.c - which connection may register as which node */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf_util.h"
#include "ctld/core/service.h"
#include "ctld/node/nodekeys.h"

extern const struct ctld_service nodekeys_service;

static Pst__NodeRecord recs[2] = { PST__NODE_RECORD__INIT, PST__NODE_RECORD__INIT };
static struct node nodes[2] = { { .rec = &recs[0] }, { .rec = &recs[1] } };
static struct node *list[2] = { &nodes[0], &nodes[1] };
static struct cluster cluster = { .nodes = list, .nnodes = 2 };
static struct ctld ctld = { .cluster = &cluster };
static char text[2][IDKEY_TEXT];

/* Node i has this key from now on; 0: none. */
static void bind_key(size_t i, uint8_t first)
{
    uint8_t key[IDKEY_SIZE] = { first };

    idkey_text(key, text[i]);
    recs[i].node_key = first ? text[i] : NULL;
    nodekeys_service.on_node(&ctld, &nodes[i], PST__EVENT_KIND__EV_NODE_REGISTER);
}

/* Keys are found, also those that begin alike or as no number can, until nodes have others. */
static void test_find(void **state)
{
    static const uint8_t alike[2][IDKEY_SIZE] = { { 1, [31] = 1 }, { 1, [31] = 2 } };
    const uint8_t plain[IDKEY_SIZE] = { 7 }, zero[IDKEY_SIZE] = { [31] = 9 };

    (void)state;
    bind_key(0, 7);
    assert_int_equal(nodekeys_find(&ctld, plain), 0);
    bind_key(0, 8);
    assert_int_equal(nodekeys_find(&ctld, plain), -1);
    bind_key(1, 7);
    assert_int_equal(nodekeys_find(&ctld, plain), 1);
    assert_int_equal(nodekeys_find(&ctld, zero), -1);
    for (size_t i = 0; i < 2; i++) {
        idkey_text(alike[i], text[i]);
        recs[i].node_key = text[i];
        nodekeys_service.on_node(&ctld, &nodes[i], PST__EVENT_KIND__EV_NODE_REGISTER);
    }
    assert_int_equal(nodekeys_find(&ctld, alike[0]), 0);
    assert_int_equal(nodekeys_find(&ctld, alike[1]), 1);
    idkey_text(zero, text[1]);
    nodekeys_service.on_node(&ctld, &nodes[1], PST__EVENT_KIND__EV_NODE_REGISTER);
    assert_int_equal(nodekeys_find(&ctld, zero), 1);
    assert_int_equal(nodekeys_find(&ctld, alike[1]), -1);
    bind_key(0, 0);
    bind_key(1, 0);
    assert_int_equal(nodekeys_find(&ctld, zero), -1);
}

static void test_judge(void **state)
{
    const bool OWN = true, SHARED = false;
    const struct {
        uint8_t bound, other; /* the first byte of the key of the node, and of the other node */
        bool own, enrols;     /* proved by a key of the node's own; with the cluster's */
        uint8_t key;          /* which one, or told by the registration */
        uint8_t binds;        /* the node gets this one */
        const char *why;
        bool learns; /* without PinNodeKeys */
    } cases[] = {
        { 0, 0, SHARED, false, 0, 0, NULL }, /* of an older release */
        { 0, 0, SHARED, false, 5, 5, NULL },
        { 5, 0, SHARED, false, 5, 0, "has a key of its own" }, /* told is not proved */
        { 5, 0, SHARED, false, 0, 0, "has a key of its own" },
        { 5, 0, OWN, false, 5, 0, NULL },
        { 5, 0, OWN, true, 5, 0, NULL },
        { 5, 0, OWN, true, 6, 0, "has another key" },
        { 0, 0, OWN, true, 6, 6, NULL },
        { 0, 0, OWN, false, 6, 0, "has no key yet" },
        { 0, 6, OWN, true, 6, 0, "the key of node n2, not of n1" },
        { 5, 6, OWN, false, 6, 0, "the key of node n2, not of n1" },
        { 0, 6, SHARED, false, 6, 0, "the key of node n2, not of n1" },
        { 5, 0, SHARED, false, 5, 0, NULL, true },
        { 5, 0, SHARED, false, 0, 0, NULL, true }, /* an older release once more */
        { 5, 0, SHARED, false, 6, 6, NULL, true }, /* it does not know these controllers */
        { 5, 0, OWN, true, 6, 6, NULL, true },     /* its disk was empty */
        { 5, 0, OWN, false, 6, 0, "has another key", true },
        { 0, 0, OWN, false, 6, 0, "has no key yet", true },
        { 5, 6, OWN, true, 6, 0, "the key of node n2, not of n1", true },
        { 5, 6, SHARED, false, 6, 0, "the key of node n2, not of n1", true },
    };
    struct conf *confs[] = { conf_with_lines("PinNodeKeys=yes"), conf_with_lines("") };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t key[IDKEY_SIZE] = { cases[i].key };
        struct peer peer = { .method = cases[i].own ? PST__AUTH_METHOD__AUTH_NODE
                                                    : PST__AUTH_METHOD__AUTH_KEY,
                             .node_enrols = cases[i].enrols };
        Pst__NodeRegister reg = PST__NODE_REGISTER__INIT;
        const uint8_t *bind = NULL;
        char why[NODEKEYS_TEXT] = "";
        int r;

        ctld.conf = confs[cases[i].learns];
        bind_key(0, cases[i].bound);
        bind_key(1, cases[i].other);
        if (cases[i].own)
            memcpy(peer.node_key, key, IDKEY_SIZE);
        else if (cases[i].key)
            reg.node_key = (ProtobufCBinaryData){ IDKEY_SIZE, key };
        r = nodekeys_judge(&ctld, &nodes[0], &peer, &reg, &bind, why);
        if (cases[i].why) {
            assert_int_equal(r, -EACCES);
            assert_non_null(strstr(why, cases[i].why));
        } else {
            assert_int_equal(r, 0);
        }
        assert_int_equal(bind ? bind[0] : 0, cases[i].binds);
    }
    conf_free(confs[0]);
    conf_free(confs[1]);
}

static void test_known(void **state)
{
    uint8_t key[IDKEY_SIZE] = { 9 };

    (void)state;
    bind_key(0, 0);
    bind_key(1, 9);
    assert_true(nodekeys_service.knows_node(&ctld, key));
    bind_key(1, 8);
    assert_false(nodekeys_service.knows_node(&ctld, key));
    key[0] = 8;
    assert_true(nodekeys_service.knows_node(&ctld, key));
    nodekeys_service.on_node_gone(&ctld, &nodes[1]);
    assert_false(nodekeys_service.knows_node(&ctld, key));
    memset(key, 0, sizeof(key)); /* what an empty place holds is no key */
    assert_false(nodekeys_service.knows_node(&ctld, key));
}

/* Only a node that would refuse our launch keys, and says so, is sent away to learn our key. */
static void test_must_teach(void **state)
{
    char path[] = "/tmp/test_nodekeys.XXXXXX";
    uint8_t node_key[IDKEY_SIZE] = { 9 }, other[IDKEY_SIZE] = { 1 }, ours[IDKEY_SIZE];
    const struct {
        size_t node_key, known_len;
        const uint8_t *known;
        bool says, taught;
    } cases[] = {
        { IDKEY_SIZE, 0, NULL, true, true },           /* its first registration */
        { IDKEY_SIZE, IDKEY_SIZE, other, true, true }, /* it knew other controllers */
        { IDKEY_SIZE, IDKEY_SIZE, ours, true, false },
        { IDKEY_SIZE, IDKEY_SIZE - 1, ours, true, true },
        { IDKEY_SIZE, 0, NULL, false, false }, /* it does not know that it can be taught */
        { 0, 0, NULL, false, false },          /* it has no key, or cannot keep ours */
        { 0, 0, NULL, true, false },
    };
    struct err err = { .text = "" };
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    (void)unlink(path);
    assert_int_equal(idkey_open(path, geteuid(), &ctld.identity, &err), 0);
    memcpy(ours, idkey_public(ctld.identity), sizeof(ours));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Pst__NodeRegister reg = PST__NODE_REGISTER__INIT;

        reg.has_node_key = cases[i].node_key > 0;
        reg.node_key = (ProtobufCBinaryData){ cases[i].node_key, node_key };
        reg.has_controller_key = cases[i].says;
        reg.controller_key =
            (ProtobufCBinaryData){ cases[i].known_len, (uint8_t *)(uintptr_t)cases[i].known };
        assert_int_equal(nodekeys_must_teach(&ctld, &reg), cases[i].taught);
        if (cases[i].taught) {
            struct idkey *identity = ctld.identity;

            ctld.identity = NULL; /* without libsodium there is nothing to teach */
            assert_false(nodekeys_must_teach(&ctld, &reg));
            ctld.identity = identity;
        }
    }
    ctld.identity = idkey_free(ctld.identity);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_judge), cmocka_unit_test(test_find),
                                        cmocka_unit_test(test_known),
                                        cmocka_unit_test(test_must_teach) };
    struct err err = { .text = "" };
    int failed;

    cmocka_set_message_output(CM_OUTPUT_TAP);
    for (uint32_t i = 0; i < 2; i++) {
        recs[i].has_node_id = true;
        recs[i].node_id = i;
        recs[i].name = (char *)(i ? "n2" : "n1");
    }
    if (nodekeys_service.start(&ctld, &err) < 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    nodekeys_service.free(&ctld);
    return failed;
}
