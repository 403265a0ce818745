/* err.c - sentences about refused input; see err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return code;
    va_start(ap, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, ap); /* cut is fine */
    va_end(ap);
    return code;
}

void err_prefix(struct err *err, const char *fmt, ...)
{
    char prefix[ERR_TEXT_MAX], rest[ERR_TEXT_MAX];
    va_list ap;

    if (!err)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(prefix, sizeof(prefix), fmt, ap); /* cut is fine */
    va_end(ap);
    memcpy(rest, err->text, sizeof(rest));
    if ((size_t)snprintf(err->text, sizeof(err->text), "%s: %s", prefix, rest) >= sizeof(err->text))
        err->text[sizeof(err->text) - 1] = '\0';
}
