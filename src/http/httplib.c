/* httplib.c - see httplib.h */
#include "http/httplib.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

void httplib_log(void *ctx, const char *fmt, va_list ap)
{
    char text[512];

    (void)ctx;
    (void)vsnprintf(text, sizeof(text), fmt, ap); /* cut is fine */
    text[strcspn(text, "\n")] = '\0';
    log_debug("http: %s", text);
}

size_t httplib_keep_escapes(void *ctx, struct MHD_Connection *conn, char *text)
{
    (void)ctx;
    (void)conn;
    return strlen(text);
}
