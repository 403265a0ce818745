/* bench_kubeapi.c - an API server of pods and nodes in memory, whose own time is small
 *
 * For bench/kube.py: what penstock-bridge can do is not to be hidden behind a server in Python.  It
 * keeps pods and nodes, and answers lists, watches, patches, bindings and deletions of them; of all
 * other kinds that it knows there is none, and events are answered and dropped.  There is no disk,
 * no admission and no TLS: a real server takes more time for each request.
 *
 * POST /fill with a pod and "count", "size": pods NAME-GANG-INDEX, so many, in gangs of that size.
 * GET /stats: requests, and pods that are bound.  It prints its port, and ends with its input. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubemap.h"

#define CONNECTIONS 512u
#define WORDS 12u
#define NAME_TEXT 700u
#define LWS "leaderworkerset.sigs.k8s.io/"

enum kind { PODS, NODES, KINDS };

static const char *const plurals[KINDS] = { "pods", "nodes" };
/* Kinds that are served and of which there is none. */
static const char *const empty[] = { "jobs", "persistentvolumeclaims", "persistentvolumes",
                                     "storageclasses" };

struct connection {
    struct strbuf in, out;
    size_t sent;
    int watch; /* a kind; -1: it asks and is answered */
};

struct event {
    unsigned long version;
    enum kind kind;
    char *line; /* of a watch, with its size before it */
};

struct server {
    struct kubemap objects[KINDS]; /* "NAMESPACE/NAME" -> json_t */
    unsigned long version, requests, bound, ended;
    bool ends; /* what is bound has ended at once, and goes when it is let go */
    struct event *log;
    size_t n_log, log_cap;
    struct pollfd fds[CONNECTIONS]; /* [0] is the listener, [1] the input */
    struct connection *conns[CONNECTIONS];
    nfds_t n;
};

struct request {
    char *method, *path, *query;
    char *words[WORDS];
    unsigned n_words;
    json_t *body;
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bench_kubeapi: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer_text(struct connection *c, int status, const char *text, size_t len)
{
    strbuf_addf(&c->out, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n", status);
    strbuf_addf(&c->out, "Content-Length: %zu\r\n\r\n", len);
    strbuf_addn(&c->out, text, len);
}

static void answer_json(struct connection *c, int status, const json_t *object)
{
    _cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);

    if (!text)
        die("no memory");
    answer_text(c, status, text, strlen(text));
}

static void refuse(struct connection *c, int status, const char *reason)
{
    _cleanup_json_ json_t *said =
        json_pack("{s:s, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1", "status",
                  "Failure", "reason", reason, "code", status);

    answer_json(c, status, said);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void log_event(struct server *s, enum kind kind, const char *type, json_t *object)
{
    _cleanup_val_(strbuf_done) struct strbuf line = STRBUF_INIT;
    _cleanup_free_ char *text = NULL;
    char version[24];
    struct event *e;
    size_t len;

    (void)snprintf(version, sizeof(version), "%lu", ++s->version);
    (void)json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
                              json_string(version));
    text = json_dumps(object, JSON_COMPACT);
    if (!text)
        die("no memory");
    len = strlen(text) + strlen(type) + sizeof("{\"type\":\"\",\"object\":}\n") - 1;
    strbuf_addf(&line, "%zx\r\n{\"type\":\"%s\",\"object\":%s}\n\r\n", len, type, text);
    if (s->n_log == s->log_cap) {
        s->log_cap = s->log_cap ? s->log_cap * 2 : 1024;
        s->log = realloc(s->log, s->log_cap * sizeof(*s->log));
    }
    if (!s->log)
        die("no memory");
    e = &s->log[s->n_log++];
    *e = (struct event){ s->version, kind, NULL };
    if (strbuf_detach(&line, &e->line) < 0)
        die("no memory");
    for (nfds_t i = 2; i < s->n; i++)
        if (s->conns[i]->watch == (int)kind)
            strbuf_add(&s->conns[i]->out, e->line);
}

static void write_key(const char *namespace_, const char *name, char buf[static NAME_TEXT])
{
    (void)snprintf(buf, NAME_TEXT, "%s/%s", namespace_, name);
}

static const char *namespace_of(enum kind kind, const json_t *object)
{
    return kind == PODS ? kubejson_namespace(object) : "";
}

/* Takes object. */
static void put_object(struct server *s, enum kind kind, json_t *object)
{
    json_t *meta = json_object_get(object, "metadata");
    char uid[40], key[NAME_TEXT], stamp[40];

    (void)snprintf(uid, sizeof(uid), "00000000-0000-4000-8000-%012lu", s->version + 1);
    kubejson_stamp(now_us(), false, stamp, sizeof(stamp));
    (void)json_object_set_new(meta, "uid", json_string(uid));
    (void)json_object_set_new(meta, "creationTimestamp", json_string(stamp));
    if (kind == PODS && !*kubejson_namespace(object))
        (void)json_object_set_new(meta, "namespace", json_string("default"));
    (void)json_object_set_new(object, "kind", json_string(kind == PODS ? "Pod" : "Node"));
    (void)json_object_set_new(object, "apiVersion", json_string("v1"));
    if (kind == PODS)
        (void)json_object_set_new(object, "status", json_pack("{s:s}", "phase", "Pending"));
    write_key(namespace_of(kind, object), kubejson_name(object), key);
    if (kubemap_put(&s->objects[kind], key, object) < 0)
        die("no memory");
    log_event(s, kind, "ADDED", object);
}

static void remove_object(struct server *s, enum kind kind, json_t *object)
{
    char key[NAME_TEXT];

    if (*kubejson_text(object, "spec.nodeName"))
        s->bound--;
    log_event(s, kind, "DELETED", object);
    write_key(namespace_of(kind, object), kubejson_name(object), key);
    (void)kubemap_take(&s->objects[kind], key);
    json_decref(object);
}

/* Items of `conditions` are told apart by their type, those of `finalizers` are texts. */
static void merge_list(json_t *to, const char *key, const json_t *from)
{
    json_t *list = json_object_get(to, key), *one, *old;
    size_t i, k;

    if (!list) {
        list = json_array();
        (void)json_object_set_new(to, key, list);
    }
    json_array_foreach(from, i, one)
    {
        if (json_is_string(one)) {
            if (!kubejson_has_text(list, json_string_value(one)))
                (void)json_array_append(list, one);
            continue;
        }
        json_array_foreach(list, k, old)
        {
            if (strcmp(kubejson_text(old, "type"), kubejson_text(one, "type")) == 0)
                break;
        }
        if (k < json_array_size(list))
            (void)json_array_set(list, k, one);
        else
            (void)json_array_append(list, one);
    }
}

static void drop_texts(json_t *to, const char *key, const json_t *texts)
{
    json_t *list = json_object_get(to, key);

    for (size_t i = json_array_size(list); i-- > 0;)
        if (kubejson_has_text(texts, json_string_value(json_array_get(list, i))))
            (void)json_array_remove(list, i);
}

/* A strategic merge patch, as far as pods of the bench are patched. */
static void merge_patch(json_t *to, const json_t *patch)
{
    const char *key, *list;
    json_t *value, *old;

    json_object_foreach((json_t *)(uintptr_t)patch, key, value)
    {
        list = kubejson_after(key, "$deleteFromPrimitiveList/");
        old = json_object_get(to, key);
        if (list)
            drop_texts(to, list, value);
        else if (json_is_null(value))
            (void)json_object_del(to, key);
        else if (json_is_object(value) && json_is_object(old))
            merge_patch(old, value);
        else if (strcmp(key, "conditions") == 0 || strcmp(key, "finalizers") == 0)
            merge_list(to, key, value);
        else
            (void)json_object_set_new(to, key, json_deep_copy(value));
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static void add_item(void *ctx, const char *key, void *value)
{
    (void)key;
    (void)json_array_append(ctx, value);
}

static void list_objects(struct server *s, struct connection *c, int kind)
{
    _cleanup_json_ json_t *items = json_array(), *list = NULL;
    char version[24];

    (void)snprintf(version, sizeof(version), "%lu", s->version);
    if (kind < KINDS)
        kubemap_walk(&s->objects[kind], add_item, items);
    list = json_pack("{s:s, s:s, s:{s:s}, s:O}", "kind", "List", "apiVersion", "v1", "metadata",
                     "resourceVersion", version, "items", items);
    answer_json(c, 200, list);
}

/* What happened behind the version, then what happens. */
static void begin_watch(struct server *s, struct connection *c, int kind, const char *query)
{
    const char *at = strstr(query, "resourceVersion=");
    unsigned long version = at ? strtoul(at + strlen("resourceVersion="), NULL, 10) : s->version;
    size_t i = s->n_log;

    strbuf_add(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n");
    c->watch = kind;
    while (i && s->log[i - 1].version > version)
        i--;
    for (; i < s->n_log; i++)
        if ((int)s->log[i].kind == kind)
            strbuf_add(&c->out, s->log[i].line);
}

static void create_object(struct server *s, struct connection *c, enum kind kind,
                          const struct request *q)
{
    json_t *made = json_deep_copy(q->body);

    if (!json_is_object(json_object_get(made, "metadata"))) {
        json_decref(made);
        refuse(c, 400, "BadRequest");
        return;
    }
    put_object(s, kind, made);
    answer_json(c, 201, made);
}

/* Pods NAME-GANG-INDEX of gangs, with the labels of LeaderWorkerSet. */
static void fill_gangs(struct server *s, struct connection *c, const json_t *asked)
{
    int64_t count = kubejson_int(asked, "count", 0), size = kubejson_int(asked, "size", 1);
    const char *name = kubejson_text(asked, "name");

    s->ends = kubejson_true(asked, "ends");
    for (int64_t i = 0; i < count; i++) {
        json_t *pod = json_deep_copy(json_object_get(asked, "pod"));
        json_t *meta = json_object_get(pod, "metadata");
        char gang[80], own[120], index[24], of[24];

        (void)snprintf(gang, sizeof(gang), "%.40s-%lld", name, (long long)(i / size));
        (void)snprintf(own, sizeof(own), "%s-%lld", gang, (long long)(i % size));
        (void)snprintf(index, sizeof(index), "%lld", (long long)(i % size));
        (void)snprintf(of, sizeof(of), "%lld", (long long)size);
        (void)json_object_set_new(meta, "name", json_string(own));
        (void)json_object_set_new(meta, "labels",
                                  json_pack("{s:s, s:s, s:s, s:s}", LWS "group-key", gang,
                                            LWS "name", gang, LWS "group-index", "0",
                                            LWS "worker-index", index));
        (void)json_object_set_new(meta, "annotations", json_pack("{s:s}", LWS "size", of));
        put_object(s, PODS, pod);
    }
    answer_text(c, 200, "{}", 2);
}

/* An object that was deleted goes when nobody holds it. */
static void end_change(struct server *s, struct connection *c, enum kind kind, json_t *object)
{
    bool over = s->ends && strcmp(kubejson_text(object, "status.phase"), "Succeeded") == 0;

    if ((over || kubejson_is_deleted(object)) &&
        !json_array_size(json_object_get(json_object_get(object, "metadata"), "finalizers")))
        remove_object(s, kind, json_incref(object));
    else
        log_event(s, kind, "MODIFIED", object);
    answer_json(c, 200, object);
    json_decref(object);
}

static void patch_object(struct server *s, struct connection *c, enum kind kind, json_t *object,
                         const struct request *q)
{
    const char *uid = kubejson_uid(q->body);

    if (*uid && strcmp(uid, kubejson_uid(object)) != 0) {
        refuse(c, 409, "Conflict");
        return;
    }
    merge_patch(object, q->body);
    end_change(s, c, kind, json_incref(object));
}

static void delete_object(struct server *s, struct connection *c, enum kind kind, json_t *object)
{
    char stamp[40];

    kubejson_stamp(now_us(), false, stamp, sizeof(stamp));
    (void)json_object_set_new(json_object_get(object, "metadata"), "deletionTimestamp",
                              json_string(stamp));
    end_change(s, c, kind, json_incref(object));
}

static void bind_pod(struct server *s, struct connection *c, json_t *pod, const json_t *binding)
{
    const char *node = kubejson_text(binding, "target.name");
    _cleanup_json_ json_t *notes = NULL;

    if (!*node || *kubejson_text(pod, "spec.nodeName") || kubejson_is_deleted(pod) ||
        (*kubejson_uid(binding) && strcmp(kubejson_uid(binding), kubejson_uid(pod)) != 0)) {
        refuse(c, 409, "Conflict");
        return;
    }
    notes = json_pack("{s:{s:O*}, s:{s:s}, s:{s:[{s:s, s:s}]}}", "metadata", "annotations",
                      kubejson_at(binding, "metadata.annotations"), "spec", "nodeName", node,
                      "status", "conditions", "type", "PodScheduled", "status", "True");
    merge_patch(pod, notes);
    s->bound++;
    log_event(s, PODS, "MODIFIED", pod);
    if (s->ends) {
        _cleanup_json_ json_t *end = json_pack("{s:{s:s}}", "status", "phase", "Succeeded");

        merge_patch(pod, end);
        s->ended++;
        log_event(s, PODS, "MODIFIED", pod);
    }
    answer_text(c, 201, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}", 55);
}

static void tell_stats(struct server *s, struct connection *c)
{
    _cleanup_json_ json_t *said = json_pack(
        "{s:I, s:I, s:I, s:I}", "requests", (json_int_t)s->requests, "bound", (json_int_t)s->bound,
        "ended", (json_int_t)s->ended, "pods", (json_int_t)s->objects[PODS].n);

    answer_json(c, 200, said);
}

/* One of `plurals`, KINDS of `empty`, KINDS + 1: not served. */
static int kind_of(const char *plural)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(plural, plurals[i]) == 0)
            return i;
    for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
        if (strcmp(plural, empty[i]) == 0)
            return KINDS;
    return KINDS + 1;
}

static void serve_object(struct server *s, struct connection *c, int kind, const char *namespace_,
                         const struct request *q, unsigned at)
{
    const char *name = at + 1 < q->n_words ? q->words[at + 1] : "";
    const char *sub = at + 2 < q->n_words ? q->words[at + 2] : "";
    char key[NAME_TEXT];
    json_t *object;

    if (kind > KINDS || !*name) {
        if (kind > KINDS)
            refuse(c, 404, "NotFound");
        else if (strcmp(q->method, "POST") == 0 && kind < KINDS)
            create_object(s, c, (enum kind)kind, q);
        else if (strstr(q->query, "watch=true"))
            begin_watch(s, c, kind, q->query);
        else
            list_objects(s, c, kind);
        return;
    }
    write_key(kind == PODS ? namespace_ : "", name, key);
    object = kind < KINDS ? kubemap_get(&s->objects[kind], key) : NULL;
    if (!object)
        refuse(c, 404, "NotFound");
    else if (strcmp(sub, "binding") == 0)
        bind_pod(s, c, object, q->body);
    else if (strcmp(q->method, "PATCH") == 0)
        patch_object(s, c, (enum kind)kind, object, q);
    else if (strcmp(q->method, "DELETE") == 0)
        delete_object(s, c, (enum kind)kind, object);
    else
        answer_json(c, 200, object);
}

/* /api/v1/..., /apis/GROUP/VERSION/... */
static void serve_request(struct server *s, struct connection *c, const struct request *q)
{
    unsigned at = strcmp(q->words[0], "apis") == 0 ? 3 : 2;
    const char *namespace_ = "";

    s->requests++;
    if (strcmp(q->words[0], "stats") == 0) {
        s->requests--;
        tell_stats(s, c);
    } else if (strcmp(q->words[0], "fill") == 0) {
        s->requests--;
        fill_gangs(s, c, q->body);
    } else if (q->n_words <= at) {
        refuse(c, 404, "NotFound"); /* no other group is served */
    } else {
        if (strcmp(q->words[at], "namespaces") == 0 && q->n_words > at + 2) {
            namespace_ = q->words[at + 1];
            at += 2;
        }
        if (strcmp(q->words[at], "events") == 0)
            answer_json(c, 201, q->body);
        else
            serve_object(s, c, kind_of(q->words[at]), namespace_, q, at);
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

static size_t body_size(const char *head)
{
    const char *line = strcasestr(head, "\r\ncontent-length:");

    return line ? strtoul(line + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

static void split_path(struct request *q)
{
    char *save = NULL;

    q->query = strchr(q->path, '?');
    if (q->query)
        *q->query++ = '\0';
    else
        q->query = q->path + strlen(q->path);
    for (char *word = strtok_r(q->path, "/", &save); word && q->n_words < WORDS;
         word = strtok_r(NULL, "/", &save))
        q->words[q->n_words++] = word;
}

/* One request at the begin of what came; its size, or 0: there is more to come. */
static size_t take_request(struct server *s, struct connection *c)
{
    char *end = c->in.len ? memmem(c->in.buf, c->in.len, "\r\n\r\n", 4) : NULL, *save = NULL;
    struct request q = { 0 };
    _cleanup_json_ json_t *body = NULL;
    struct err err = { .text = "" };
    size_t head, size;

    if (!end)
        return 0;
    head = (size_t)(end - c->in.buf) + 4;
    end[2] = '\0'; /* the last header keeps its end */
    size = body_size(c->in.buf);
    if (c->in.len < head + size) {
        end[2] = '\r';
        return 0;
    }
    if (size && kubejson_parse(c->in.buf + head, size, &body, &err) < 0) {
        refuse(c, 400, "BadRequest");
        return head + size;
    }
    q.method = strtok_r(c->in.buf, " ", &save);
    q.path = q.method ? strtok_r(NULL, " ", &save) : NULL;
    q.body = body;
    if (q.path)
        split_path(&q);
    if (q.n_words)
        serve_request(s, c, &q);
    else
        refuse(c, 404, "NotFound");
    return head + size;
}

static void close_connection(struct server *s, nfds_t i)
{
    (void)close(s->fds[i].fd);
    strbuf_done(&s->conns[i]->in);
    strbuf_done(&s->conns[i]->out);
    free(s->conns[i]);
    s->n--;
    s->fds[i] = s->fds[s->n];
    s->conns[i] = s->conns[s->n];
}

static bool read_requests(struct server *s, struct connection *c, int fd)
{
    ssize_t n = read(fd, strbuf_room(&c->in, 65536), 65536);
    size_t size;

    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    strbuf_grew(&c->in, (size_t)n);
    while ((size = take_request(s, c))) {
        memmove(c->in.buf, c->in.buf + size, c->in.len - size);
        c->in.len -= size;
    }
    return !c->in.failed;
}

static bool write_answers(struct connection *c, int fd)
{
    ssize_t n = send(fd, c->out.buf + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN;
    c->sent += (size_t)n;
    if (c->sent == c->out.len) {
        strbuf_reset(&c->out);
        c->sent = 0;
    }
    return true;
}

static void accept_one(struct server *s)
{
    int fd = accept4(s->fds[0].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
    struct connection *c = fd < 0 ? NULL : calloc(1, sizeof(*c));

    if (!c || s->n == CONNECTIONS)
        die("accept");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    c->watch = -1;
    s->conns[s->n] = c;
    s->fds[s->n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void serve_all(struct server *s)
{
    for (;;) {
        if (poll(s->fds, s->n, -1) < 0)
            die("poll");
        if (s->fds[1].revents)
            return; /* whoever began us has ended */
        for (nfds_t i = s->n; i-- > 2;) {
            if (s->fds[i].revents & ~POLLOUT && !read_requests(s, s->conns[i], s->fds[i].fd))
                close_connection(s, i);
        }
        for (nfds_t i = s->n; i-- > 2;) {
            if (s->conns[i]->out.len && !write_answers(s->conns[i], s->fds[i].fd))
                close_connection(s, i);
            else
                s->fds[i].events = (short)(POLLIN | (s->conns[i]->out.len ? POLLOUT : 0));
        }
        if (s->fds[0].revents)
            accept_one(s);
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in sa = { .sin_family = AF_INET };
    socklen_t len = sizeof(sa);
    struct server *s = calloc(1, sizeof(*s));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (argc < 2 || strcmp(argv[1], "serve") != 0) {
        fprintf(stderr, "bench_kubeapi: nothing is to be served; see `bench/kube.py`\n");
        return 0;
    }
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!s || fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 1024) < 0 ||
        getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
        die("listen");
    s->version = 100;
    s->fds[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
    s->fds[1] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
    s->n = 2;
    printf("%d\n", ntohs(sa.sin_port));
    (void)fflush(stdout);
    serve_all(s);
    return 0;
}
