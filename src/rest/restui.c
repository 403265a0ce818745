/* restui.c - the dashboard's files over HTTP; see restui.h */
#include "rest/restui.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/http.h"

#define INDEX "index.html"

/* Of every answer.  The page builds what it shows from text alone; should a name of a job ever get
 * past that, it finds no script that may run and nowhere to send anything. */
static const struct {
    const char *name, *value;
} headers[] = {
    { "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
      "require-trusted-types-for 'script'; trusted-types reader" },
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Cache-Control", "no-cache" }, /* kept, and asked for again by its tag */
};

const struct restui_file *restui_find(const char *path)
{
    const char *name;

    if (strncmp(path, RESTUI_PATH "/", strlen(RESTUI_PATH "/")) != 0)
        return NULL;
    name = path + strlen(RESTUI_PATH "/");
    if (!*name)
        name = INDEX;
    for (const struct restui_file *file = restui_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

bool restui_is_known(const struct restui_file *file, const char *tags)
{
    size_t len = strlen(file->etag);

    for (const char *p = tags; p && *p; p += strcspn(p, ","), p += *p == ',') {
        p += strspn(p, " \t");
        if (*p == '*')
            return true;
        if (strncmp(p, "W/", 2) == 0)
            p += 2;
        if (strncmp(p, file->etag, len) == 0)
            return true;
    }
    return false;
}

bool restui_is(const char *method, const char *path)
{
    bool reads =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;

    return reads && (strcmp(path, RESTUI_PATH) == 0 || restui_find(path));
}

static enum MHD_Result send_and_drop(struct MHD_Connection *conn, unsigned status,
                                     struct MHD_Response *response)
{
    enum MHD_Result sent = MHD_YES;

    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < ARRAY_SIZE(headers) && sent == MHD_YES; i++)
        sent = MHD_add_response_header(response, headers[i].name, headers[i].value);
    if (sent == MHD_YES)
        sent = MHD_queue_response(conn, status, response);
    MHD_destroy_response(response);
    return sent;
}

static struct MHD_Response *borrow_bytes(const char *data, size_t size)
{
    /* The library only reads. */
    return MHD_create_response_from_buffer(size, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);
}

/* Relative, so that it holds behind a proxy that serves us below a path of its own. */
static enum MHD_Result send_to_folder(struct MHD_Connection *conn)
{
    struct MHD_Response *response = borrow_bytes("", 0);

    if (response)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, "ui/");
    return send_and_drop(conn, MHD_HTTP_PERMANENT_REDIRECT, response);
}

enum MHD_Result restui_send(struct MHD_Connection *conn, const char *path)
{
    const struct restui_file *file = restui_find(path);
    struct MHD_Response *response;
    bool known;

    if (!file)
        return send_to_folder(conn);
    known = restui_is_known(
        file, MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH));
    response = known ? borrow_bytes("", 0) : borrow_bytes(file->data, file->size);
    if (response) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, file->etag);
        if (!known)
            (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, file->type);
    }
    return send_and_drop(conn, known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response);
}
