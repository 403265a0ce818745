/* httplib.h - how servers of ours want libmicrohttpd to behave; for those that start it
 *
 * Both functions are options of MHD_start_daemon(); they may run on any thread. */
#pragma once

#include <microhttpd.h>
#include <stdarg.h>
#include <stddef.h>

/* MHD_OPTION_EXTERNAL_LOGGER: the first line of what the library says, cut at 511 bytes, is a
 * debug message. */
__attribute__((format(printf, 2, 0))) void httplib_log(void *ctx, const char *fmt, va_list ap);

/* MHD_OPTION_UNESCAPE_CALLBACK: paths and queries stay as they were sent, since the library would
 * undo escapes before a path is split into its parts.  Gives the length of text. */
size_t httplib_keep_escapes(void *ctx, struct MHD_Connection *conn, char *text);
