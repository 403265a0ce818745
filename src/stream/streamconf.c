/* streamconf.c - see streamconf.h */
#include "stream/streamconf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PATIENCE_MS 2000u
#define PATIENCE_MIN_MS 100u
#define PATIENCE_MAX_MS 60000u

/* A whole number of n digits, min .. max. */
static int read_number(const char *text, size_t n, uint32_t min, uint32_t max, uint32_t *ret)
{
    uint64_t v = 0;

    if (!n || n > 9)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -EINVAL;
        v = v * 10 + (uint64_t)(text[i] - '0');
    }
    if (v < min || v > max)
        return -EINVAL;
    *ret = (uint32_t)v;
    return 0;
}

/* HOST, HOST:PORT, [ADDRESS], [ADDRESS]:PORT */
static int read_address(const char *text, size_t n, struct stream_config *c)
{
    bool bracket = n && text[0] == '[';
    const char *end = bracket ? memchr(text, ']', n) : memchr(text, ':', n);
    const char *host = text + bracket;
    size_t len = end ? (size_t)(end - host) : n;
    uint32_t port = STREAM_WITNESS_PORT;
    size_t used;

    if ((bracket && !end) || !len || len >= sizeof(c->witness))
        return -EINVAL;
    for (size_t i = 0; i < len; i++)
        if (host[i] <= ' ' || host[i] > '~')
            return -EINVAL;
    used = (size_t)bracket + len + (size_t)bracket;
    if (used < n &&
        (text[used] != ':' || read_number(text + used + 1, n - used - 1, 1, UINT16_MAX, &port) < 0))
        return -EINVAL;
    memcpy(c->witness, host, len);
    c->witness[len] = '\0';
    c->port = (uint16_t)port;
    return 0;
}

static int take_word(struct stream_config *c, const char *word, size_t n, struct err *err)
{
    if (n > 8 && strncmp(word, "witness=", 8) == 0 && read_address(word + 8, n - 8, c) == 0)
        return 0;
    if (n > 9 && strncmp(word, "patience=", 9) == 0 &&
        read_number(word + 9, n - 9, PATIENCE_MIN_MS, PATIENCE_MAX_MS, &c->patience_ms) == 0)
        return 0;
    return err_set(err, -EINVAL,
                   "JournalParameters: %.*s: with JournalType=stream known are witness=HOST[:PORT] "
                   "and patience=MILLISECONDS (%u to %u)",
                   (int)MIN(n, (size_t)128), word, PATIENCE_MIN_MS, PATIENCE_MAX_MS);
}

int stream_config_parse(const char *text, struct stream_config *ret, struct err *err)
{
    struct stream_config c = { .port = STREAM_WITNESS_PORT, .patience_ms = PATIENCE_MS };
    int r = 0;

    while (text && *text && r == 0) {
        size_t n = strcspn(text, ",");

        if (n)
            r = take_word(&c, text, n, err);
        text += n + (text[n] == ',');
    }
    if (r < 0)
        return r;
    if (!c.witness[0])
        return err_set(err, -EINVAL,
                       "JournalType=stream needs JournalParameters=witness=HOST:PORT, where "
                       "`penstock witness` runs");
    *ret = c;
    return 0;
}
