/* restserve.c - requests over HTTP; see restserve.h
 *
 * The library gives each connection a thread.  A request is read whole, then answered: a short
 * answer by the connection's thread itself, a long one by a thread of its own, whose pieces the
 * connection's thread sends (restout.h). */
#include "rest/restserve.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/http.h"
#include "http/httplib.h"
#include "rest/restauth.h"
#include "rest/restbody.h"
#include "rest/restfresh.h"
#include "rest/restgzip.h"
#include "rest/restopenapi.h"
#include "rest/restout.h"
#include "rest/restpath.h"
#include "rest/restschema.h"
#include "rest/restui.h"
#include "wire/errors.h"

#define QUERY_WORDS_MAX 256u
#define PIECE_BYTES (240u * 1024) /* an answer is sent once so much has gathered */
#define LONG_NICE 10
#define SENT_AT_ONCE (64u * 1024)
#define BODY_OF_ANYBODY (256u * 1024) /* more is kept for callers alone whom a daemon believes */
#define WEIGHT_OF_ANYBODY 64000u      /* likewise, of its values: some MiB of memory */
#define PACKED_FROM 1024u             /* shorter answers are sent as they are */
/* Bytes of a refused body that are read, so that its sender comes to read why. */
#define DRAINED_MOST (4 * REST_BODY_MAX)

struct request {
    struct rest_call call;
    struct rest_caller caller;
    struct rest_path path;
    struct strbuf body, answer;
    struct rest_out *out; /* of an answer that streams */
    struct restgzip *gz;  /* what packs it; NULL: it is sent as it is */
    bool gzip;            /* the caller takes packed answers */
    size_t came;          /* of the body */
    size_t rest_sent;     /* of what stayed in `answer` */
    pthread_t maker;
    bool yaml;
    bool dense; /* JSON without blanks and lines */
    bool too_large;
    bool believed,
        stranger; /* of a large body: a daemon was asked whether it believes the caller */
    bool sent;    /* refused already */
    bool taking;  /* of the path whose connections are taken over */
};

#define FIELD_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_,"

/* Of what is refused there: errors stand in the frame of every answer. */
static const struct rest_row taking_row = { "GET", REST_SLURM, "", 0, NULL, false };

/* ---- words of the request -------------------------------------------------------------------- */

const char *rest_header(const struct rest_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->caller->conn, MHD_HEADER_KIND, name);
}

uint64_t rest_seen_version(const struct rest_call *call)
{
    return restfresh_first(rest_header(call, MHD_HTTP_HEADER_IF_NONE_MATCH));
}

/* One word of the query.  A wrong escape ends the walk, so that fewer words than sent are there. */
static enum MHD_Result add_query(void *ctx, enum MHD_ValueKind kind, const char *key,
                                 const char *value)
{
    struct rest_call *call = ctx;
    struct rest_pair pair = { NULL, NULL };

    (void)kind;
    value = value ? value : "";
    if (call->n_query == QUERY_WORDS_MAX ||
        restpath_unescape(key, strlen(key), true, &pair.name) < 0 ||
        restpath_unescape(value, strlen(value), true, &pair.value) < 0) {
        free(pair.name);
        return MHD_NO;
    }
    call->query[call->n_query++] = pair;
    return MHD_YES;
}

static int read_query(struct request *q, struct MHD_Connection *conn)
{
    int n = MHD_get_connection_values(conn, MHD_GET_ARGUMENT_KIND, NULL, NULL);

    if (n <= 0)
        return 0;
    if ((unsigned)n > QUERY_WORDS_MAX)
        return -E2BIG;
    q->call.query = calloc((size_t)n, sizeof(*q->call.query));
    if (!q->call.query)
        return -ENOMEM;
    (void)MHD_get_connection_values(conn, MHD_GET_ARGUMENT_KIND, add_query, &q->call); /* counted */
    return q->call.n_query == (size_t)n ? 0 : -EINVAL;
}

/* ";q=0.8" among the parameters of a type, in thousandths; 1000 when there is none. */
static int quality_of(const char *params)
{
    for (const char *p = params; *p && *p != ','; p += strcspn(p, ";,")) {
        int q = 0;

        p += strspn(p, "; \t");
        if (strncasecmp(p, "q=", 2) != 0)
            continue;
        p += 2;
        for (int unit = 1000; unit && (*p == '.' || (*p >= '0' && *p <= '9')); p++)
            if (*p != '.') {
                q += (*p - '0') * unit;
                unit /= 10;
            }
        return MIN(q, 1000);
    }
    return 1000;
}

/* How much a header wants a type, in thousandths; 0: not at all. */
static int wants_type(const char *header, const char *type)
{
    size_t len = strlen(type);

    for (const char *p = header; p && *p; p = strchr(p, ',')) {
        p += strspn(p, ", \t");
        if (strncasecmp(p, type, len) == 0 && strchr(",; \t", p[len]))
            return quality_of(p + len);
        if (!*p)
            break;
    }
    return 0;
}

/* The first of these that the header names, which are in the order of how much they say. */
static int wants_first(const char *header, const char *const *types)
{
    int q = 0;

    for (; !q && *types; types++)
        q = wants_type(header, *types);
    return q;
}

static int wants_json(const char *header)
{
    static const char *const types[] = { "application/json", "application/*", "*/*", NULL };

    return wants_first(header, types);
}

static int wants_yaml(const char *header)
{
    static const char *const types[] = { "application/x-yaml", "application/yaml", "text/yaml",
                                         "text/x-yaml", NULL };

    return wants_first(header, types);
}

/* What is wanted more; of both alike JSON, unless YAML alone is named. */
static bool prefers_yaml(const char *header)
{
    int json = wants_json(header), yaml = wants_yaml(header);

    return yaml > json || (yaml && yaml == json && !wants_type(header, "application/json"));
}

/* "application/json;indent=0": without blanks and lines. */
static bool wants_dense(const char *header)
{
    static const char word[] = "indent=0";
    const char *p = header ? strcasestr(header, "application/json") : NULL;

    if (!p)
        return false;
    p += strlen("application/json");
    p += strspn(p, " \t");
    if (*p != ';')
        return false;
    p++;
    p += strspn(p, " \t");
    return strncasecmp(p, word, strlen(word)) == 0 && strchr(",; \t", p[strlen(word)]);
}

/* ---- sending --------------------------------------------------------------------------------- */

static enum MHD_Result queue_and_drop(struct MHD_Connection *conn, unsigned status,
                                      const char *type, struct MHD_Response *response)
{
    enum MHD_Result sent;

    if (!response)
        return MHD_NO; /* out of memory: the library closes the connection */
    if (type)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    /* Without these an answer is only less safe in a browser. */
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    sent = MHD_queue_response(conn, status, response);
    MHD_destroy_response(response);
    return sent;
}

static enum MHD_Result count_length(void *ctx, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    unsigned *n = ctx;

    (void)kind;
    (void)value;
    *n += strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 ||
          strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    return MHD_YES;
}

/* Two lengths of one body: a proxy before us may have cut it where the other one says. */
static bool has_two_lengths(struct MHD_Connection *conn)
{
    unsigned n = 0;

    (void)MHD_get_connection_values(conn, MHD_HEADER_KIND, count_length, &n); /* counted */
    return n > 1;
}

/* A refusal outside the API's own form: a sentence. */
static enum MHD_Result send_text(struct request *q, struct MHD_Connection *conn, unsigned status,
                                 const char *text)
{
    q->sent = true;
    return queue_and_drop(conn, status, text[0] ? "text/plain" : NULL,
                          MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
                                                          MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result refuse_two_lengths(struct request *q, struct MHD_Connection *conn)
{
    static const char text[] = "A request has one length: Content-Length, or Transfer-Encoding";
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

    q->sent = true;
    if (response) /* without it the connection ends as well: the body is not read */
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    return queue_and_drop(conn, HTTP_BAD_REQUEST, "text/plain", response);
}

static enum json_style style_of(const struct request *q)
{
    return q->yaml ? JSON_YAML : q->dense ? JSON_DENSE : JSON_PRETTY;
}

static const char *type_of(const struct request *q)
{
    return q->yaml ? "application/x-yaml" : "application/json";
}

static struct rest_head head_of(const struct rest_call *call)
{
    bool good =
        (call->status == HTTP_OK || call->status == HTTP_NOT_MODIFIED) && !rest_has_error(call);

    return (struct rest_head){ .status = call->status,
                               .edition = good ? call->edition : 0,
                               .is_set = true };
}

/* What answers have beside their type.  A header that does not fit is left out: the answer is sent
 * again then, or not kept. */
static struct MHD_Response *with_headers(const struct rest_head *head,
                                         struct MHD_Response *response, bool packed)
{
    char tag[RESTFRESH_TAG];

    if (!response)
        return NULL;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
    if (packed)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    if (head->edition) {
        restfresh_tag(head->edition, tag);
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, tag);
    }
    return response;
}

/* A long enough answer is packed for who takes it; out of memory, it is sent as it is. */
static bool pack_answer(struct request *q)
{
    struct strbuf packed = STRBUF_INIT;

    if (!q->gzip || q->answer.failed || q->answer.len < PACKED_FROM ||
        restgzip_pack(q->answer.buf, q->answer.len, &packed) < 0) {
        strbuf_done(&packed);
        return false;
    }
    strbuf_done(&q->answer);
    q->answer = packed;
    return true;
}

static enum MHD_Result send_answer(struct request *q, struct MHD_Connection *conn)
{
    bool packed = q->call.status != HTTP_NOT_MODIFIED && pack_answer(q);
    struct rest_head head = head_of(&q->call);
    size_t len = q->answer.len;
    char *text = NULL;

    if (head.status == HTTP_NOT_MODIFIED) {
        strbuf_reset(&q->answer);
        len = 0;
    }
    if (strbuf_detach(&q->answer, &text) < 0)
        return MHD_NO;
    return queue_and_drop(
        conn, head.status, type_of(q),
        with_headers(&head, MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE),
                     packed));
}

/* ---- making an answer ------------------------------------------------------------------------ */

static void give_links(struct rest_call *call)
{
    for (size_t i = 0; i < ARRAY_SIZE(call->link); i++) {
        if (call->link[i] && call->gone)
            (void)rest_link_free(call->link[i]); /* with what it still has to say; always NULL */
        else if (call->link[i])
            rest_links_give(call->rest->links, call->link[i]);
        call->link[i] = NULL;
    }
}

/* Does the daemon that the request is for believe the caller?  It is asked once.  Whoever has no
 * good token must not fill the memory of the server. */
static bool is_believed(struct request *q)
{
    struct rest_call *call = &q->call;

    if (q->believed || q->stranger)
        return q->believed;
    if (call->row->open) {
        q->too_large = true;
        return false;
    }
    q->believed = call->rest->believes(call, q->path.plugin == REST_SLURMDB);
    q->stranger = !q->believed;
    give_links(call); /* the rest may take its time */
    if (q->stranger)
        strbuf_done(&q->body);
    return q->believed;
}

/* May the body become so long?  Beyond a size that is for anybody a daemon is asked. */
static bool may_be_long(struct request *q, size_t len)
{
    return len <= BODY_OF_ANYBODY ? !q->stranger : is_believed(q);
}

/* The members that objects of lists are to have: fields=.  false: an error was noted. */
static bool choose_fields(struct rest_call *call)
{
    const char *names = rest_query(call, "fields");
    size_t n = 1;

    if (!names || !names[0] || strcmp(call->row->method, MHD_HTTP_METHOD_GET) != 0)
        return true;
    for (const char *p = names; *p; p++)
        n += *p == ',';
    if (n > JSON_CHOICE_MAX || strspn(names, FIELD_CHARACTERS) != strlen(names)) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, "fields",
                   "fields= takes at most %u names of members, with commas", JSON_CHOICE_MAX);
        return false;
    }
    json_choose(&call->js, names);
    return true;
}

/* Names that no object had: mistyped, or there was no object. */
static void tell_unmet(struct rest_call *call)
{
    size_t len;

    for (size_t i = 0; i < JSON_CHOICE_MAX && call->js.met; i++) {
        const char *name = json_choice_unmet(&call->js, i, &len);

        if (!name)
            break;
        rest_warning(call, "fields", "No object has the member \"%.*s\"", (int)len, name);
    }
    json_choose(&call->js, NULL);
}

/* What the caller has already is not sent again. */
static void settle_version(struct rest_call *call)
{
    const char *seen = rest_header(call, MHD_HTTP_HEADER_IF_NONE_MATCH);

    if (strcmp(call->row->method, MHD_HTTP_METHOD_GET) != 0 || call->status != HTTP_OK ||
        rest_has_error(call) || call->row->streams)
        return;
    if (!call->edition)
        call->edition = restfresh_digest(call);
    if (seen && restfresh_names(seen, call->edition))
        rest_unchanged(call);
}

static void make_answer(struct request *q)
{
    struct rest_call *call = &q->call;

    restreply_begin(call, &q->answer, style_of(q));
    if (choose_fields(call) && restschema_check_query(call->rest->schema, call) &&
        restschema_check(call->rest->schema, call))
        call->row->answer(call);
    settle_version(call);
    tell_unmet(call);
    restreply_end(call);
    give_links(call);
}

int rest_flush(struct rest_call *call)
{
    int r;

    if (!call->out || call->js.out->len < PIECE_BYTES)
        return 0;
    if (!call->head.is_set)
        call->head = head_of(call);
    r = restout_put(call->out, call->js.out);
    call->gone = call->gone || r < 0;
    return r;
}

/* A long list takes a moment anyway.  Its threads give way to the srun of another user on this
 * host; on Linux the value is a thread's own. */
static void give_way(void)
{
    errno = 0;
    if (nice(LONG_NICE) == -1 && errno)
        return; /* goes on as it is */
}

static void *make_long_answer(void *arg)
{
    struct request *q = arg;

    give_way();
    make_answer(q);
    restout_end(q->out, q->answer.failed ? -ENOMEM : 0);
    return NULL;
}

/* As read(2). */
static ssize_t take_piece(void *ctx, char *buf, size_t size)
{
    struct request *q = ctx;
    ssize_t n = restout_take(q->out, buf, size);
    size_t left;

    if (n != 0)
        return n;
    /* The rest stayed with the maker, who has ended. */
    left = MIN(size, q->answer.len - q->rest_sent);
    if (!left)
        return 0;
    memcpy(buf, q->answer.buf + q->rest_sent, left);
    q->rest_sent += left;
    return (ssize_t)left;
}

static ssize_t read_piece(void *ctx, uint64_t at, char *buf, size_t size)
{
    struct request *q = ctx;
    ssize_t n = q->gz ? restgzip_read(q->gz, buf, size) : take_piece(q, buf, size);

    (void)at;
    return n < 0    ? MHD_CONTENT_READER_END_WITH_ERROR
           : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
                    : n;
}

static enum MHD_Result answer_long(struct request *q, struct MHD_Connection *conn)
{
    struct MHD_Response *response;

    if (restout_new(&q->out) < 0)
        return MHD_NO;
    q->call.out = q->out;
    if (pthread_create(&q->maker, NULL, make_long_answer, q) != 0) {
        q->out = restout_free(q->out);
        return MHD_NO;
    }
    if (restout_wait(q->out)) /* it became a short one */
        return send_answer(q, conn);
    give_way();
    if (q->gzip && restgzip_new(take_piece, q, &q->gz) < 0)
        q->gz = NULL; /* it is sent as it is */
    response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, SENT_AT_ONCE, read_piece, q, NULL);
    return queue_and_drop(conn, q->call.head.status, type_of(q),
                          with_headers(&q->call.head, response, q->gz != NULL));
}

/* Values of at most this weight; -E2BIG: there are more. */
static int parse_values(struct request *q, struct MHD_Connection *conn, size_t most,
                        struct err *err)
{
    const char *type =
        MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);

    if (!type || wants_json(type))
        return restbody_parse_json(q->body.buf, q->body.len, most, &q->call.body, err);
    if (wants_yaml(type))
        return restbody_parse_yaml(q->body.buf, q->body.len, most, &q->call.body, err);
    return err_set(err, -EMEDIUMTYPE, "HTTP Content-Type header is unknown or unsupported");
}

/* -EACCES: the values are too many for a stranger; why is noted. */
static int parse_body(struct request *q, struct MHD_Connection *conn, struct err *err)
{
    int r;

    if (!q->body.len)
        return 0;
    r = parse_values(q, conn, q->believed ? RESTBODY_WEIGHT_MAX : WEIGHT_OF_ANYBODY, err);
    if (r != -E2BIG || q->believed)
        return r;
    return is_believed(q) ? parse_values(q, conn, RESTBODY_WEIGHT_MAX, err) : -EACCES;
}

/* What becomes large when it is unpacked is a large body. */
static int unpack_gzip(struct request *q, struct strbuf *plain)
{
    const char *packed = q->body.buf ? q->body.buf : "";
    int r =
        restgzip_unpack(packed, q->body.len, q->believed ? REST_BODY_MAX : BODY_OF_ANYBODY, plain);

    if (r != -EFBIG || q->believed)
        return r;
    return is_believed(q) ? restgzip_unpack(packed, q->body.len, REST_BODY_MAX, plain) : -EACCES;
}

/* Content-Encoding: gzip, or none.  Errors: -EMEDIUMTYPE another one; -EACCES too large for a
 * stranger; as restgzip_unpack(). */
static int unpack_body(struct request *q, struct MHD_Connection *conn)
{
    const char *coding =
        MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_ENCODING);
    struct strbuf plain = STRBUF_INIT;
    int r;

    if (!coding || strcasecmp(coding, "identity") == 0)
        return 0;
    if (strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "x-gzip") != 0)
        return -EMEDIUMTYPE;
    r = unpack_gzip(q, &plain);
    if (r < 0)
        return r;
    strbuf_done(&q->body);
    q->body = plain;
    return 0;
}

/* Why was noted when a daemon was asked. */
static enum MHD_Result refuse_stranger(struct request *q, struct MHD_Connection *conn)
{
    if (!q->stranger) /* a path for anybody takes no large body */
        return send_text(q, conn, HTTP_TOO_LARGE, "The body is too large");
    restreply_begin(&q->call, &q->answer, style_of(q));
    restreply_end(&q->call);
    return send_answer(q, conn);
}

static enum MHD_Result refuse_body(struct request *q, struct MHD_Connection *conn, int r)
{
    if (r == -EACCES)
        return refuse_stranger(q, conn);
    if (r == -EMEDIUMTYPE)
        return send_text(q, conn, HTTP_MEDIA_TYPE, "Content-Encoding is gzip, or there is none");
    if (r == -EFBIG)
        return send_text(q, conn, HTTP_TOO_LARGE, "The body is larger than 16 MiB");
    return send_text(q, conn, HTTP_BAD_REQUEST, "The body is no gzip");
}

static enum MHD_Result answer_request(struct request *q, struct MHD_Connection *conn)
{
    struct err err = { .text = "" };
    int r;

    if (q->stranger)
        return refuse_stranger(q, conn);
    if (q->too_large || q->body.failed)
        return send_text(q, conn, HTTP_TOO_LARGE, "The body is larger than 16 MiB");
    r = unpack_body(q, conn);
    if (r < 0)
        return refuse_body(q, conn, r);
    r = parse_body(q, conn, &err);
    if (r == -EMEDIUMTYPE)
        return send_text(q, conn, HTTP_MEDIA_TYPE, err.text);
    if (r == -EACCES)
        return refuse_stranger(q, conn);
    if (r == -E2BIG)
        return send_text(q, conn, HTTP_TOO_LARGE, "The body has too many values");
    if (r < 0)
        return send_text(q, conn, HTTP_BAD_REQUEST, slurm_err_text(ESLURM_REST_FAIL_PARSING));
    if (q->path.row->streams)
        return answer_long(q, conn);
    make_answer(q);
    return send_answer(q, conn);
}

/* ---- from the library ------------------------------------------------------------------------ */

static struct request *request_new(struct rest *rest, struct MHD_Connection *conn)
{
    struct request *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->call.notes = malloc(sizeof(*q->call.notes)); /* large: what is not used is not touched */
    if (!q->call.notes) {
        free(q);
        return NULL;
    }
    q->call.notes->n_errors = q->call.notes->n_warnings = 0;
    q->call.rest = rest;
    q->call.status = HTTP_OK;
    q->call.caller = &q->caller;
    q->caller.conn = conn;
    return q;
}

static void request_free(struct request *q)
{
    if (q->out) {
        restout_drop(q->out);
        (void)pthread_join(q->maker, NULL); /* it sees the drop at its next piece */
        (void)restout_free(q->out);         /* always NULL */
    }
    (void)restgzip_free(q->gz); /* always NULL */
    restreply_done(&q->call);
    strbuf_done(&q->body);
    strbuf_done(&q->answer);
    free(q);
}

/* What is known before the body: path, caller, form of the answer. */
static enum MHD_Result begin_request(struct request *q, struct MHD_Connection *conn,
                                     const char *method, const char *path)
{
    struct rest *rest = q->call.rest;
    const char *accept = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    int r = restpath_find(rest->config.rows, method, path, &q->path);

    if (r < 0 || !(rest->config.plugins & 1u << q->path.plugin) ||
        (q->path.plugin != REST_PENSTOCK &&
         !(rest->config.versions & UINT64_C(1) << q->path.version)))
        return send_text(q, conn, HTTP_NOT_FOUND, slurm_err_text(ESLURM_REST_UNKNOWN_URL));
    if (q->path.row->open)
        restauth_nobody(conn, &q->caller);
    else if (!restauth_caller(rest, conn, &q->caller))
        return send_text(q, conn, HTTP_UNAUTHORIZED, slurm_err_text(ESLURM_REST_AUTH_FAIL));
    q->yaml = accept && prefers_yaml(accept);
    q->dense = !q->yaml && wants_dense(accept);
    if (accept && !q->yaml && !wants_json(accept))
        return send_text(q, conn, HTTP_MEDIA_TYPE,
                         "HTTP Accept header content type is unknown or unsupported");
    if (read_query(q, conn) < 0)
        return send_text(q, conn, HTTP_BAD_REQUEST, slurm_err_text(ESLURM_REST_INVALID_QUERY));
    q->gzip = restgzip_accepted(
        MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    q->call.row = q->path.row;
    q->call.version = q->path.version;
    q->call.word = q->path.has_word ? q->path.word : NULL;
    return MHD_YES;
}

/* ---- connections that are taken over --------------------------------------------------------- */

static bool is_taking(const struct rest *rest, const char *method, const char *path)
{
    const struct rest_taking *taking = rest->config.taking;
    size_t len = taking ? strlen(taking->path) : 0;

    return taking && strcmp(method, MHD_HTTP_METHOD_GET) == 0 &&
           strncmp(path, taking->path, len) == 0 && (!path[len] || strcmp(path + len, "/") == 0);
}

static enum MHD_Result begin_taking(struct request *q, struct MHD_Connection *conn)
{
    q->taking = true;
    q->call.row = &taking_row;
    q->call.version = REST_NEWEST;
    if (!restauth_caller(q->call.rest, conn, &q->caller))
        return send_text(q, conn, HTTP_UNAUTHORIZED, slurm_err_text(ESLURM_REST_AUTH_FAIL));
    if (read_query(q, conn) < 0)
        return send_text(q, conn, HTTP_BAD_REQUEST, slurm_err_text(ESLURM_REST_INVALID_QUERY));
    return MHD_YES;
}

/* The library keeps a socket that leads nowhere, under the same number, and closes it. */
int rest_take_over(struct rest_call *call)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(call->caller->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    int dead[2], fd;

    if (!info || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, dead) < 0)
        return -EMFILE;
    (void)close(dead[1]); /* sockets: nothing was sent */
    fd = fcntl(info->connect_fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0 && dup3(dead[0], info->connect_fd, O_CLOEXEC) < 0) {
        (void)close(fd); /* the original is still there */
        fd = -1;
    }
    (void)close(dead[0]);
    return fd < 0 ? -EMFILE : fd;
}

static enum MHD_Result take_connection(struct request *q, struct MHD_Connection *conn)
{
    const struct rest_taking *taking = q->call.rest->config.taking;

    if (taking->take(taking->ctx, &q->call))
        return MHD_NO; /* the library closes what it holds for one */
    restreply_begin(&q->call, &q->answer, JSON_PRETTY);
    restreply_end(&q->call);
    return send_answer(q, conn);
}

const char *rest_token(const struct rest_call *call)
{
    return call->caller->token;
}

const char *rest_acting_for(const struct rest_call *call)
{
    return call->caller->name;
}

/* One for all, as long as rest lives: callers whom nobody knows ask for it, and take their time.
 * NULL: out of memory. */
static const char *document_of(struct rest *rest, bool yaml)
{
    char **at = &rest->documents[yaml];

    (void)pthread_mutex_lock(&rest->document_lock);
    if (!*at && restopenapi_make(&rest->config, rest->schema, yaml, at) < 0)
        *at = NULL;
    (void)pthread_mutex_unlock(&rest->document_lock);
    return *at;
}

/* The OpenAPI document: the same for everybody who may ask at all. */
static enum MHD_Result send_document(struct request *q, struct MHD_Connection *conn, bool yaml)
{
    const char *accept = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const char *text;

    if (!restauth_caller(q->call.rest, conn, &q->caller))
        return send_text(q, conn, HTTP_UNAUTHORIZED, slurm_err_text(ESLURM_REST_AUTH_FAIL));
    q->yaml = yaml || (accept && prefers_yaml(accept));
    text = document_of(q->call.rest, q->yaml);
    if (!text)
        return MHD_NO;
    q->sent = true;
    return queue_and_drop(conn, HTTP_OK, type_of(q),
                          MHD_create_response_from_buffer(strlen(text),
                                                          (void *)(uintptr_t)text, /* only read */
                                                          MHD_RESPMEM_PERSISTENT));
}

/* The dashboard needs the paths that are ours alone. */
static bool serves_page(const struct rest *rest)
{
    return rest->config.plugins & 1u << REST_PENSTOCK;
}

static enum MHD_Result send_page(struct request *q, struct MHD_Connection *conn, const char *path)
{
    q->sent = true;
    return restui_send(conn, path);
}

/* Probes of orchestrators, who have no token: the process lives, and takes requests as long as it
 * does.  What is behind it has probes of its own. */
static bool is_probe(const char *method, const char *path)
{
    static const char *const paths[] = { "/livez", "/healthz", "/readyz" };

    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (strcmp(path, paths[i]) == 0)
            return true;
    return false;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *conn, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **con_ctx)
{
    struct request *q = *con_ctx;
    bool yaml;

    (void)version;
    if (!q) {
        q = request_new(ctx, conn);
        if (!q)
            return MHD_NO;
        *con_ctx = q;
        if (has_two_lengths(conn))
            return refuse_two_lengths(q, conn);
        if (is_probe(method, path))
            return send_text(q, conn, HTTP_NO_CONTENT, "");
        if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 && restopenapi_is(path, &yaml))
            return send_document(q, conn, yaml);
        if (serves_page(ctx) && restui_is(method, path))
            return send_page(q, conn, path);
        if (is_taking(ctx, method, path))
            return begin_taking(q, conn);
        return begin_request(q, conn, method, path);
    }
    if (*len) {
        q->came += *len;
        if (q->came > DRAINED_MOST)
            return MHD_NO;
        q->too_large = q->too_large || q->body.len + *len > REST_BODY_MAX;
        if (!q->too_large && !q->sent && may_be_long(q, q->body.len + *len))
            strbuf_addn(&q->body, data, *len);
        *len = 0;
        return MHD_YES;
    }
    if (q->sent)
        return MHD_YES;
    return q->taking ? take_connection(q, conn) : answer_request(q, conn);
}

static void on_completed(void *ctx, struct MHD_Connection *conn, void **con_ctx,
                         enum MHD_RequestTerminationCode code)
{
    (void)ctx;
    (void)conn;
    (void)code;
    if (*con_ctx)
        request_free(*con_ctx);
    *con_ctx = NULL;
}

static void on_connection(void *ctx, struct MHD_Connection *conn, void **conn_ctx,
                          enum MHD_ConnectionNotificationCode code)
{
    struct rest *rest = ctx;

    (void)conn;
    (void)conn_ctx;
    if (rest && code == MHD_CONNECTION_NOTIFY_STARTED)
        (void)atomic_fetch_add(&rest->started, 1);
}

struct MHD_Daemon *restserve_start(struct rest *rest, int listen_fd)
{
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC |
                     MHD_USE_ERROR_LOG | (listen_fd < 0 ? MHD_USE_NO_LISTEN_SOCKET : 0);
    struct MHD_OptionItem listening[] = { { MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL },
                                          { MHD_OPTION_END, 0, NULL } };
    struct MHD_Daemon *mhd;
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    mhd = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, rest, MHD_OPTION_EXTERNAL_LOGGER, httplib_log, NULL,
        MHD_OPTION_ARRAY, listen_fd < 0 ? &listening[1] : listening, MHD_OPTION_UNESCAPE_CALLBACK,
        httplib_keep_escapes, NULL, MHD_OPTION_CONNECTION_LIMIT, rest->config.connections,
        MHD_OPTION_CONNECTION_TIMEOUT, REST_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)REST_HEADERS_MAX, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, listen_fd < 0 ? rest : NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return mhd;
}
