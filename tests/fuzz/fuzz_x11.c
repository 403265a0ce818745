/* fuzz_x11.c - what X programs, .Xauthority files and DISPLAY hold
 *
 * The first byte chooses the parser.  A program that shows another cookie gets nothing through; the
 * entries of a file that are kept can be found in it. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/x11/xaddress.h"
#include "wire/x11/xauthority.h"
#include "wire/x11/xsetup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_setup(const uint8_t *data, size_t size)
{
    static const struct xauth_cookie shown = { "shown-by-program", 16 };
    static const struct xauth_cookie real = { "of-the-display!", 15 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    long used = xsetup_swap(data, size, &shown, &real, &sb);

    assert(used <= (long)size);
    assert((used > 0) == (sb.len > 0));
    if (used > 0) {
        assert(memmem(data, (size_t)used, shown.bytes, shown.len));
        assert(memmem(sb.buf, sb.len, real.bytes, real.len));
        assert(!memmem(sb.buf, sb.len, shown.bytes, shown.len));
    }
}

static void try_file(const uint8_t *data, size_t size)
{
    static const struct xauth_cookie ours = { "0123456789abcdef", 16 };
    const struct xauth_want want = { .local_name = "host", .display = 10 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct xauth_cookie found;

    if (xauthority_find(data, size, &want, &found) == 0)
        assert(found.len > 0 && found.len <= XAUTH_COOKIE_MAX);
    xauthority_add(&sb, XAUTH_LOCAL, "host", 10, &ours);
    xauthority_without(data, size, "host", 10, &sb);
    assert(!sb.failed && sb.len <= size + 64);
    assert(xauthority_find(sb.buf, sb.len, &want, &found) == 0);
    assert(found.len == ours.len && memcmp(found.bytes, ours.bytes, ours.len) == 0);
}

static void try_display(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct err err = { .text = "" };
    struct xaddress a;

    assert(text);
    if (xaddress_parse(text, &a, &err) == 0)
        assert(a.display <= XADDRESS_MAX && strlen(a.host) < sizeof(a.host));
    else
        assert(err.text[0]);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 3 == 0)
        try_setup(data + 1, size - 1);
    else if (data[0] % 3 == 1)
        try_file(data + 1, size - 1);
    else
        try_display(data + 1, size - 1);
    return 0;
}
