/* test_launchkey.c - launch keys of the cluster's key and of a node's own */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/server/launchkey.h"

static const uint8_t secret_of_node[32] = { 5 };

static bool get_secret(void *ctx, uint8_t secret[32])
{
    memcpy(secret, secret_of_node, sizeof(secret_of_node));
    return ctx != NULL;
}

static void test_node_key(void **state)
{
    int known = 1;
    struct server_config config = { .hooks = { .launch_secret = get_secret }, .ctx = &known };
    const uint8_t mac[AUTH_MAC_SIZE] = { 1 }, other[AUTH_MAC_SIZE] = { 2 };
    uint8_t want[AUTH_MAC_SIZE], key[AUTH_MAC_SIZE];

    memcpy(want, secret_of_node, sizeof(want));
    idkey_mix(want, mac);
    assert_int_equal(conn_launch_key(&config, NULL, IDKEY_LAUNCH_KID, mac, key), 0);
    assert_memory_equal(key, want, sizeof(key));
    assert_int_equal(conn_launch_key(&config, NULL, IDKEY_LAUNCH_KID, other, key), 0);
    assert_memory_not_equal(key, want, sizeof(key));
    config.ctx = NULL; /* no controller is known yet */
    assert_int_equal(conn_launch_key(&config, NULL, IDKEY_LAUNCH_KID, mac, key), -ENOKEY);
}

static void test_no_keys(void **state)
{
    struct server_config config = { .port = 0 };
    const uint8_t mac[AUTH_MAC_SIZE] = { 1 };
    uint8_t key[AUTH_MAC_SIZE];

    assert_int_equal(conn_launch_key(&config, NULL, "k1", mac, key), -ENOKEY);
    assert_int_equal(conn_launch_key(&config, NULL, IDKEY_LAUNCH_KID, mac, key), -ENOKEY);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_key),
        cmocka_unit_test(test_no_keys),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
