/* hookhttp.c - see hookhttp.h */
#include "kube/hook/hookhttp.h"

#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kube/hook/hookreview.h"
#include "kube/hook/hooktls.h"

#define MEMORY_EACH (32u << 10)
#define IDLE_S 30u

struct hookhttp {
    struct MHD_Daemon *mhd;
    hookhttp_answer_fn *answer;
    void *ctx;
    size_t held; /* bytes of all bodies */
};

struct upload {
    struct strbuf body;
    size_t held;      /* of the bytes of all */
    size_t dropped;   /* bytes that are behind what may be kept */
    unsigned refused; /* the status that is answered then; 0: none */
};

static enum MHD_Result send_text(struct MHD_Connection *conn, unsigned status, const char *type,
                                 char *text_taken)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text_taken), text_taken, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result sent;

    if (!response) {
        free(text_taken);
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    sent = MHD_queue_response(conn, status, response);
    MHD_destroy_response(response);
    return sent;
}

static enum MHD_Result send_error(struct MHD_Connection *conn, unsigned status, const char *text)
{
    char *line = NULL;

    if (asprintf(&line, "%s\n", text) < 0)
        return MHD_NO;
    return send_text(conn, status, "text/plain; charset=utf-8", line);
}

static enum MHD_Result answer_upload(struct hookhttp *h, struct MHD_Connection *conn,
                                     const char *path, struct upload *u)
{
    _cleanup_free_ char *text = NULL;
    struct err err = { .text = "" };
    json_t *answer = NULL;
    unsigned status;

    if (u->refused)
        return send_error(conn, u->refused,
                          u->refused == MHD_HTTP_CONTENT_TOO_LARGE
                              ? "the body is too large"
                              : "too many bodies come at once");
    if (u->body.failed)
        return send_error(conn, MHD_HTTP_SERVICE_UNAVAILABLE, ERR_NOMEM);
    status = h->answer(h->ctx, path, strbuf_str(&u->body), u->body.len, &answer, &err);
    if (status != MHD_HTTP_OK)
        return send_error(conn, status, err.text);
    text = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    return text ? send_text(conn, MHD_HTTP_OK, "application/json", TAKE_PTR(text)) : MHD_NO;
}

/* A body that is too large is read on and dropped, so that its sender hears why.  MHD_NO: it does
 * not end, and the connection does. */
static enum MHD_Result add_piece(struct hookhttp *h, struct upload *u, const char *data, size_t len)
{
    if (!u->refused && u->body.len + len > HOOKREVIEW_MAX)
        u->refused = MHD_HTTP_CONTENT_TOO_LARGE;
    else if (!u->refused && h->held + len > HOOKHTTP_BODIES)
        u->refused = MHD_HTTP_SERVICE_UNAVAILABLE;
    if (u->refused) {
        u->dropped += len;
        return u->dropped > HOOKREVIEW_MAX ? MHD_NO : MHD_YES;
    }
    strbuf_addn(&u->body, data, len);
    u->held += len;
    h->held += len;
    return MHD_YES;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *conn, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **con_ctx)
{
    struct hookhttp *h = ctx;
    struct upload *u = *con_ctx;

    (void)version;
    if (strcmp(path, "/healthz") == 0 && strcmp(method, MHD_HTTP_METHOD_GET) == 0)
        return send_error(conn, MHD_HTTP_OK, "ok");
    if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
        return send_error(conn, MHD_HTTP_METHOD_NOT_ALLOWED, "POST is wanted");
    if (!u) { /* the headers are read */
        *con_ctx = calloc(1, sizeof(*u));
        return *con_ctx ? MHD_YES : MHD_NO;
    }
    if (*len) {
        size_t got = *len;

        *len = 0;
        return add_piece(h, u, data, got);
    }
    return answer_upload(h, conn, path, u);
}

static void end_request(void *ctx, struct MHD_Connection *conn, void **con_ctx,
                        enum MHD_RequestTerminationCode why)
{
    struct hookhttp *h = ctx;
    struct upload *u = *con_ctx;

    (void)conn;
    (void)why;
    if (!u)
        return;
    h->held -= u->held;
    strbuf_done(&u->body);
    free(u);
    *con_ctx = NULL;
}

int hookhttp_new(hookhttp_answer_fn *answer, void *ctx, struct hookhttp **ret)
{
    struct hookhttp *h = calloc(1, sizeof(*h));
    sigset_t all, before;

    if (!h)
        return -ENOMEM;
    h->answer = answer;
    h->ctx = ctx;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    h->mhd =
        MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC, 0,
                         NULL, NULL, on_request, h, MHD_OPTION_NOTIFY_COMPLETED, end_request, h,
                         MHD_OPTION_CONNECTION_LIMIT, HOOKTLS_CONNECTIONS,
                         MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         (size_t)MEMORY_EACH, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!h->mhd) {
        free(h);
        return -ENOMEM;
    }
    *ret = h;
    return 0;
}

void hookhttp_take(void *hookhttp, int fd)
{
    struct hookhttp *h = hookhttp;
    struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof(addr);

    if (getpeername(fd, (struct sockaddr *)&addr, &len) < 0)
        (void)close(fd);
    else
        (void)MHD_add_connection(h->mhd, fd, (struct sockaddr *)&addr, len); /* or closes fd */
}

struct hookhttp *hookhttp_free(struct hookhttp *h)
{
    if (!h)
        return NULL;
    MHD_stop_daemon(h->mhd);
    free(h);
    return NULL;
}
