/* http.c - libmicrohttpd and the table of paths
 *
 * One thread of the library's serves everything; `kept` is its alone.  http_take() may be called
 * from any thread while it runs. */
#include "http/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/logflags.h"
#include "base/timefmt.h"
#include "http/httplib.h"
#include "http/httppaths.h"

#define CONNECTIONS_MAX 256u
#define CONNECTIONS_EACH 64u
#define IDLE_S 30u
#define MEMORY_EACH (32u * 1024)

struct kept {
    struct MHD_Response *response; /* NULL: none */
    int64_t until_mono_us;
};

struct http {
    struct MHD_Daemon *mhd;
    struct http_config config;
    struct kept *kept; /* one for each row of config.paths */
    atomic_bool off;
};

struct http_request {
    struct MHD_Connection *conn;
};

const char *http_request_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->conn, MHD_HEADER_KIND, name);
}

static enum MHD_Result is_word(void *word, enum MHD_ValueKind kind, const char *key,
                               const char *value)
{
    const char **ret = word;

    (void)kind;
    (void)value;
    if (!key || strcmp(key, *ret) != 0)
        return MHD_YES;
    *ret = NULL;
    return MHD_NO;
}

bool http_request_asks(const struct http_request *r, const char *word)
{
    (void)MHD_get_connection_values(r->conn, MHD_GET_ARGUMENT_KIND, is_word, &word); /* a count */
    return !word;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Takes the body, of a type (NULL: text).  NULL: out of memory. */
static struct MHD_Response *response_new(unsigned status, const char *type, struct strbuf *body)
{
    char *text = NULL;
    size_t len = body->len;
    struct MHD_Response *response;

    if (strbuf_detach(body, &text) < 0)
        return NULL;
    response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return NULL;
    }
    /* Without these an answer is only less safe in a browser. */
    if (status != HTTP_NO_CONTENT)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                      type ? type : "text/plain");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return response;
}

static enum MHD_Result send_body(struct MHD_Connection *conn, unsigned status, const char *type,
                                 struct strbuf *body)
{
    struct MHD_Response *response = response_new(status, type, body);
    enum MHD_Result sent = response ? MHD_queue_response(conn, status, response) : MHD_NO;

    if (response)
        MHD_destroy_response(response);
    return sent;
}

static enum MHD_Result refuse_request(const struct http *h, struct MHD_Connection *conn,
                                      unsigned status, const char *method, const char *path,
                                      const char *reason)
{
    struct strbuf body = STRBUF_INIT;
    enum MHD_Result sent;

    httppaths_refuse(h->config.name, method, path, reason, &body);
    sent = send_body(conn, status, NULL, &body);
    strbuf_done(&body);
    return sent;
}

/* The same path at `where`, which is emptied. */
static enum MHD_Result send_elsewhere(struct MHD_Connection *conn, const char *path,
                                      struct strbuf *where)
{
    struct strbuf nothing = STRBUF_INIT;
    struct MHD_Response *response = response_new(HTTP_SEE_OTHER, NULL, &nothing);
    enum MHD_Result sent = MHD_NO;

    strbuf_add(where, path);
    if (response &&
        MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, strbuf_str(where)) == MHD_YES)
        sent = MHD_queue_response(conn, HTTP_SEE_OTHER, response);
    if (response)
        MHD_destroy_response(response);
    return sent;
}

static void keep_response(struct kept *k, const struct http_path *row, struct strbuf *body)
{
    if (k->response)
        MHD_destroy_response(k->response); /* who reads it has a reference */
    k->response = response_new(HTTP_OK, row->type, body);
    k->until_mono_us = now_mono_us() + (int64_t)row->keep_ms * 1000;
}

/* Make the answer of a row and send it. */
static enum MHD_Result answer_row(struct http *h, const struct http_path *row,
                                  const struct http_request *r, const char *method)
{
    struct kept *k = &h->kept[row - h->config.paths];
    struct strbuf body = STRBUF_INIT;
    struct err err = { .text = "" };
    enum MHD_Result sent = MHD_NO; /* out of memory: the library closes the connection */
    unsigned status = HTTP_OK;

    if (row->answer)
        status = row->answer(h->config.ctx, r, &body, &err);
    else
        httppaths_list(h->config.paths, row, h->config.name, &body);
    if (status == HTTP_SEE_OTHER) {
        sent = send_elsewhere(r->conn, row->path, &body);
    } else if (status >= 400) {
        sent = refuse_request(h, r->conn, status, method, row->path, err.text);
    } else if (row->keep_ms && body.len) {
        keep_response(k, row, &body);
        if (k->response)
            sent = MHD_queue_response(r->conn, status, k->response);
    } else {
        sent = send_body(r->conn, status, row->type, &body);
    }
    strbuf_done(&body);
    return sent;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *conn, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **con_ctx)
{
    struct http *h = ctx;
    const struct http_path *row = httppaths_find(h->config.paths, path);
    const struct http_request r = { conn };
    struct err err = { .text = "" };
    const struct kept *k;
    unsigned refused;

    (void)version;
    (void)data;
    if (!row ||
        (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0))
        return refuse_request(h, conn, HTTP_NOT_FOUND, method, path, "Invalid or unknown URL path");
    if (!*con_ctx) { /* the headers are read; the library calls again behind the body */
        *con_ctx = h;
        return MHD_YES;
    }
    if (*len)
        return MHD_NO; /* a body: nothing here takes one */
    refused = row->allow ? row->allow(h->config.ctx, &r, &err) : 0;
    if (refused)
        return refuse_request(h, conn, refused, method, path, err.text);
    if (strncmp(row->path, "/metrics", 8) == 0)
        log_flag(METRICS, "%s %s", method, row->path);
    k = &h->kept[row - h->config.paths];
    if (k->response && now_mono_us() < k->until_mono_us)
        return MHD_queue_response(conn, HTTP_OK, k->response);
    return answer_row(h, row, &r, method);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The library's thread shall not take the daemon's signals.  It uses poll(2): with epoll it does
 * not see the end of a caller who closes behind half a request. */
static struct MHD_Daemon *start_thread(struct http *h)
{
    struct MHD_Daemon *mhd;
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    mhd = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, httplib_log, NULL,
        MHD_OPTION_UNESCAPE_CALLBACK, httplib_keep_escapes, NULL, MHD_OPTION_CONNECTION_LIMIT,
        CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT, CONNECTIONS_EACH,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_EACH, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return mhd;
}

int http_new(const struct http_config *config, struct http **ret_http, struct err *err)
{
    struct http *h = calloc(1, sizeof(*h));
    size_t n = 0;

    while (config->paths[n].path)
        n++;
    if (h) {
        h->config = *config;
        h->kept = calloc(n + 1, sizeof(*h->kept));
    }
    if (!h || !h->kept) {
        free(h);
        return err_nomem(err);
    }
    h->mhd = start_thread(h);
    if (!h->mhd) {
        (void)http_free(h); /* always NULL */
        return err_set(err, -EAGAIN, "the thread that serves HTTP cannot start");
    }
    *ret_http = h;
    return 0;
}

void http_take(struct http *h, int fd)
{
    struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof(addr);

    if (atomic_load(&h->off) || getpeername(fd, (struct sockaddr *)&addr, &len) < 0) {
        (void)close(fd); /* not served, or gone already */
        return;
    }
    if (MHD_add_connection(h->mhd, fd, (struct sockaddr *)&addr, len) != MHD_YES) /* it closed fd */
        log_limited(LOG_INFO, "connection closed: too many that speak HTTP");
}

void http_switch(struct http *h, bool on)
{
    atomic_store(&h->off, !on);
}

struct http *http_free(struct http *h)
{
    size_t n = 0;

    if (!h)
        return NULL;
    if (h->mhd)
        MHD_stop_daemon(h->mhd);
    for (; h->config.paths[n].path; n++)
        if (h->kept[n].response)
            MHD_destroy_response(h->kept[n].response);
    free(h->kept);
    free(h);
    return NULL;
}
