/* test_ident.c - what a host says of a user: made, read, refused */
#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/auth/ident.h"

static uint32_t some_gids[IDENT_GROUPS_MAX + 1] = { 100, 20 };

static Pst__ClientIdent sound(void)
{
    Pst__ClientIdent id = PST__CLIENT_IDENT__INIT;

    id.name = (char *)"ada";
    id.gecos = (char *)"Ada, of the analytical engine";
    id.home = (char *)"/home/ada";
    id.shell = (char *)"";
    id.n_gids = 2;
    id.gids = some_gids;
    return id;
}

static void test_what_is_no_identity(void **state)
{
    static const char *const names[] = { "", "-x", ".", "..", "a/b", "a:b", "a b", "a,b", "a\nb" };
    char longest[IDENT_TEXT_MAX + 2];
    Pst__ClientIdent id = sound();

    (void)state;
    assert_null(ident_fault(&id));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        id.name = (char *)names[i];
        assert_non_null(ident_fault(&id));
    }
#define WITH(change) (id = sound(), change, assert_non_null(ident_fault(&id)))
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[IDENT_TEXT_MAX + 1] = '\0';
    WITH(id.name = NULL);
    WITH(id.home = NULL);
    WITH(id.home = (char *)"home");
    WITH(id.home = longest);
    WITH(id.shell = (char *)"/bin/sh\nx:x:0:0::/:");
    WITH(id.gecos = (char *)"a:b");
    WITH(id.n_gids = 0);
    WITH(id.n_gids = IDENT_GROUPS_MAX + 1);
#undef WITH
}

static void test_read(void **state)
{
    uint8_t buf[IDENT_BYTES_MAX + 64];
    Pst__ClientIdent id = sound(), *got = NULL;
    size_t n = pst__client_ident__pack(&id, buf);

    (void)state;
    assert_int_equal(ident_read(buf, n, &got), 0);
    assert_string_equal(got->home, "/home/ada");
    assert_int_equal(got->n_gids, 2);
    pst__client_ident__free_unpacked(got, NULL);
    got = NULL;
    memcpy(buf + n, "\x80\x00\x01", 3); /* a field of number 0, which packs as nobody reads it */
    assert_int_equal(ident_read(buf, n + 3, &got), 0);
    assert_int_equal(pst__client_ident__get_packed_size(got), n);
    pst__client_ident__free_unpacked(got, NULL);
    got = NULL;
    assert_int_equal(ident_read(buf, n - 1, &got), -EINVAL);
    assert_int_equal(ident_read(buf, 0, &got), -EINVAL);
    assert_int_equal(ident_read(buf, IDENT_BYTES_MAX + 1, &got), -EINVAL);
    id.name = (char *)"a/b";
    n = pst__client_ident__pack(&id, buf);
    assert_int_equal(ident_read(buf, n, &got), -EINVAL);
    assert_null(got);
}

static void test_of_this_host(void **state)
{
    const struct passwd *pw = getpwuid(0);
    _cleanup_free_ uint8_t *packed = NULL;
    struct err err = { .text = "" };
    Pst__ClientIdent *got = NULL;
    size_t n = 0;

    (void)state;
    assert_non_null(pw);
    assert_int_equal(ident_make(0, 12345, &packed, &n, &err), 0);
    assert_int_equal(ident_read(packed, n, &got), 0);
    assert_string_equal(got->name, pw->pw_name);
    assert_string_equal(got->home, pw->pw_dir);
    assert_int_equal(got->gids[0], 12345); /* the group of the process, whatever its user's is */
    pst__client_ident__free_unpacked(got, NULL);
    free(packed);
    packed = NULL;
    assert_int_equal(ident_make(4294967290u, 1, &packed, &n, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no user with the number 4294967290"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_identity),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_of_this_host),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
