/* restui.h - the dashboard's files over HTTP (private to rest/)
 *
 * The page is compiled in (tools/embed-web) and the same for everybody: nothing of the cluster is
 * in it, so no token is wanted.  It asks the API for what it shows, with the token of its reader.
 * Its answers forbid the browser every other server, scripts that stand in the page, and frames
 * around it. */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#define RESTUI_PATH "/ui"

struct restui_file {
    const char *name; /* below /ui/: "js/main.js"; NULL ends the table */
    const char *type; /* of the header Content-Type */
    const char *etag; /* with its quotes */
    const char *data; /* not ended by a zero alone: it may hold some */
    size_t size;      /* bytes */
};
extern const struct restui_file restui_files[]; /* made by tools/embed-web */

/* The file that a path without its query names ("/ui/" is "/ui/index.html"); NULL: none.  Pure. */
const struct restui_file *restui_find(const char *path);
/* Does a list of tags, as in If-None-Match, name the file as it is?  NULL: no.  Pure. */
bool restui_is_known(const struct restui_file *file, const char *tags);
/* May the dashboard answer this method and path: its folder, or one of its files? */
bool restui_is(const char *method, const char *path);
/* Answer a request of which restui_is() is true.  MHD_NO: out of memory. */
enum MHD_Result restui_send(struct MHD_Connection *conn, const char *path);
