/* pmi.c - PMI-1 and PMI-2: a connection to each task, a table of what they put, and meetings
 *
 * Which of the two a task speaks is what its first line says.  All tasks of the node in a
 * barrier or fence make one meeting of the nodes; the answers leave when every node's part has
 * come. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "pmi/kvs.h"
#include "pmi/pmiservice.h"
#include "pmi/text.h"

#define READ_CHUNK 65536u
#define KVS_NAME_MAX 256
#define KEY_MAX 64
#define VALUE_MAX 1024

struct peer {
    int fd; /* -1: closed */
    uint32_t rank;
    bool framed;      /* PMI-2, after init */
    bool meeting;     /* waits in a barrier or fence */
    bool swallowing;  /* lines of a PMI-1 spawn */
    char thread[64];  /* PMI-2: to be told back with the fence's answer */
    char wanted[256]; /* PMI-2: attribute of the node it waits for, "" none */
    char wanted_thread[64];
    struct strbuf in;
};

struct pmi {
    struct service *service;
    struct peer *peers;
    size_t n;
    struct kvs kvs, node_attrs;
    uint32_t meetings; /* done */
    bool waiting;      /* for the other nodes */
    char *mapping;
};

static void drop_peer(struct peer *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* A task has at most one question open, so its socket has room for the answer. */
static void answer_peer(struct peer *p, const struct strbuf *body)
{
    char prefix[8];

    if (body->failed || body->len > PMI_MAX - 8) {
        drop_peer(p);
        return;
    }
    (void)snprintf(prefix, sizeof(prefix), "%6zu", body->len);
    if (p->framed && send(p->fd, prefix, 6, MSG_NOSIGNAL) != 6) {
        drop_peer(p);
        return;
    }
    if (send(p->fd, body->buf, body->len, MSG_NOSIGNAL) != (ssize_t)body->len)
        drop_peer(p);
}

static void answer_line(struct peer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void answer_line(struct peer *p, const char *fmt, ...)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_addv(&sb, fmt, ap);
    va_end(ap);
    strbuf_addc(&sb, '\n');
    answer_peer(p, &sb);
}

/* Begin an answer of PMI-2. */
static void begin_answer2(struct strbuf *sb, const char *cmd, const char *thread)
{
    strbuf_addf(sb, "cmd=%s-response;", cmd);
    if (thread && *thread)
        pmi_text_field(sb, "thrid", thread);
}

static void answer_simple2(struct peer *p, const char *cmd, const char *thread, int rc,
                           const char *why)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    begin_answer2(&sb, cmd, thread);
    strbuf_addf(&sb, "rc=%d;", rc);
    if (why)
        pmi_text_field(&sb, "errmsg", why);
    answer_peer(p, &sb);
}

static void answer_value2(struct peer *p, const char *cmd, const char *thread, const char *value)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    begin_answer2(&sb, cmd, thread);
    strbuf_addf(&sb, "found=%s;", value ? "TRUE" : "FALSE");
    if (value)
        pmi_text_field(&sb, "value", value);
    strbuf_addf(&sb, "rc=0;");
    answer_peer(p, &sb);
}

/* ---- meetings -------------------------------------------------------------------------------- */

static void end_barrier(struct pmi *m)
{
    m->meetings++;
    m->waiting = false;
    for (size_t i = 0; i < m->n; i++) {
        struct peer *p = &m->peers[i];

        if (!p->meeting || p->fd < 0)
            continue;
        p->meeting = false;
        if (p->framed)
            answer_simple2(p, "kvs-fence", p->thread, 0, NULL);
        else
            answer_line(p, "cmd=barrier_out rc=0");
    }
}

static void join_barrier(struct pmi *m)
{
    struct service *s = m->service;
    Pst__StepMpi msg = PST__STEP_MPI__INIT;

    for (size_t i = 0; i < m->n; i++)
        if (!m->peers[i].meeting)
            return;
    if (s->layout.n_nodes == 1) {
        strbuf_reset(&m->kvs.fresh);
        end_barrier(m);
        return;
    }
    msg.has_kind = msg.has_sequence = msg.has_parties = msg.has_from = msg.has_data = true;
    msg.kind = PST__STEP_MPI_KIND__MPI_MEET;
    msg.set = (char *)"kvs";
    msg.sequence = m->meetings;
    msg.parties = s->layout.n_nodes;
    msg.from = s->node;
    msg.data.data = (uint8_t *)m->kvs.fresh.buf;
    msg.data.len = m->kvs.fresh.len;
    m->waiting = true;
    service_send(s, &msg);
    strbuf_reset(&m->kvs.fresh);
}

static void pmi_message(struct service *s, const Pst__StepMpi *msg)
{
    struct pmi *m = s->state;

    if (msg->kind != PST__STEP_MPI_KIND__MPI_MET || !m->waiting || msg->sequence != m->meetings)
        return;
    if (kvs_merge(&m->kvs, msg->data.data, msg->data.len) < 0)
        service_abort(s, 0, 1, "what another node has put could not be stored");
    else
        end_barrier(m);
}

/* ---- PMI-1 ----------------------------------------------------------------------------------- */

static const char *look_up(const struct pmi *m, const char *key)
{
    if (key && strcmp(key, "PMI_process_mapping") == 0)
        return m->mapping;
    return key ? kvs_get(&m->kvs, key) : NULL;
}

static void answer_get1(struct pmi *m, struct peer *p, const struct pmi_text *t)
{
    const char *value = look_up(m, pmi_text_get(t, "key"));

    if (value && strlen(value) < VALUE_MAX)
        answer_line(p, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        answer_line(p, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
}

static void answer_put1(struct pmi *m, struct peer *p, const struct pmi_text *t)
{
    const char *key = pmi_text_get(t, "key"), *value = pmi_text_get(t, "value");
    bool fits = key && value && strlen(key) < KEY_MAX && strlen(value) < VALUE_MAX;

    if (fits && kvs_put(&m->kvs, key, value) == 0)
        answer_line(p, "cmd=put_result rc=0 msg=success");
    else
        answer_line(p, "cmd=put_result rc=-1 msg=%s", fits ? "no_memory" : "too_long");
}

static void answer_init1(struct peer *p, const struct pmi_text *t)
{
    const char *version = pmi_text_get(t, "pmi_version");

    if (version && strcmp(version, "2") == 0) {
        answer_line(p, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0");
        p->framed = true;
    } else if (version && strcmp(version, "1") == 0) {
        answer_line(p, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    } else {
        answer_line(p, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1");
    }
}

static void abort_of(struct pmi *m, struct peer *p, const struct pmi_text *t)
{
    const char *code = pmi_text_get(t, "exitcode"), *text = pmi_text_get(t, "msg");

    long n = code ? strtol(code, NULL, 10) : 1; /* what is no number is an abort all the same */

    service_abort(m->service, p->rank, n & 0xff ? (int)(n & 0xff) : 1,
                  text ? text : pmi_text_get(t, "error_msg"));
}

static void handle_request1(struct pmi *m, struct peer *p, const struct pmi_text *t)
{
    const char *cmd = pmi_text_get(t, "cmd");

    if (p->swallowing) {
        p->swallowing = !(t->n && strcmp(t->names[0], "endcmd") == 0);
        if (!p->swallowing)
            answer_line(p, "cmd=spawn_result rc=-1 errcodes=-1");
    } else if (pmi_text_get(t, "mcmd")) {
        p->swallowing = true;
    } else if (!cmd) {
        drop_peer(p);
    } else if (strcmp(cmd, "init") == 0) {
        answer_init1(p, t);
    } else if (strcmp(cmd, "get_maxes") == 0) {
        answer_line(p, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", KVS_NAME_MAX,
                    KEY_MAX, VALUE_MAX);
    } else if (strcmp(cmd, "get_appnum") == 0) {
        answer_line(p, "cmd=appnum appnum=%td",
                    layout_part(&m->service->layout, p->rank) - m->service->layout.parts);
    } else if (strcmp(cmd, "get_my_kvsname") == 0) {
        answer_line(p, "cmd=my_kvsname kvsname=%s", m->service->job_id);
    } else if (strcmp(cmd, "get_universe_size") == 0) {
        answer_line(p, "cmd=universe_size size=%u", m->service->layout.n_ranks);
    } else if (strcmp(cmd, "get") == 0) {
        answer_get1(m, p, t);
    } else if (strcmp(cmd, "put") == 0) {
        answer_put1(m, p, t);
    } else if (strcmp(cmd, "barrier_in") == 0) {
        p->meeting = true;
        join_barrier(m);
    } else if (strcmp(cmd, "finalize") == 0) {
        answer_line(p, "cmd=finalize_ack rc=0");
    } else if (strcmp(cmd, "abort") == 0) {
        abort_of(m, p, t);
    } else {
        answer_line(p, "cmd=%.64s_result rc=-1 msg=not_supported", cmd);
    }
}

/* ---- PMI-2 ----------------------------------------------------------------------------------- */

static void answer_fullinit2(struct pmi *m, struct peer *p, const char *thread)
{
    const struct layout *l = &m->service->layout;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    begin_answer2(&sb, "fullinit", thread);
    strbuf_addf(
        &sb,
        "pmi-version=2;pmi-subversion=0;rank=%u;size=%u;appnum=%td;debugged=FALSE;pmiverbose=FALSE;rc=0;",
        p->rank, l->n_ranks, layout_part(l, p->rank) - l->parts);
    answer_peer(p, &sb);
}

static void answer_jobid2(struct pmi *m, struct peer *p, const char *thread)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    begin_answer2(&sb, "job-getid", thread);
    pmi_text_field(&sb, "jobid", m->service->job_id);
    strbuf_addf(&sb, "rc=0;");
    answer_peer(p, &sb);
}

static void job_attr2(struct pmi *m, struct peer *p, const struct pmi_text *t, const char *thread)
{
    const char *key = pmi_text_get(t, "key"), *value = NULL;
    char size[16];

    if (key && strcmp(key, "universeSize") == 0) {
        (void)snprintf(size, sizeof(size), "%u", m->service->layout.n_ranks);
        value = size;
    } else if (key && strcmp(key, "PMI_process_mapping") == 0) {
        value = m->mapping;
    }
    answer_value2(p, "info-getjobattr", thread, value);
}

static void node_attr2(struct pmi *m, struct peer *p, const struct pmi_text *t, const char *thread)
{
    const char *key = pmi_text_get(t, "key"), *wait = pmi_text_get(t, "wait");
    const char *value = key ? kvs_get(&m->node_attrs, key) : NULL;

    if (value || !key || !wait || strcmp(wait, "TRUE") != 0 || strlen(key) >= sizeof(p->wanted)) {
        answer_value2(p, "info-getnodeattr", thread, value);
        return;
    }
    (void)snprintf(p->wanted, sizeof(p->wanted), "%s", key);
    (void)snprintf(p->wanted_thread, sizeof(p->wanted_thread), "%s", thread ? thread : "");
}

static void put_node_attr2(struct pmi *m, struct peer *p, const struct pmi_text *t,
                           const char *thread)
{
    const char *key = pmi_text_get(t, "key"), *value = pmi_text_get(t, "value");
    int r = key && value ? kvs_put(&m->node_attrs, key, value) : -EINVAL;

    strbuf_reset(&m->node_attrs.fresh); /* stays on this node */
    answer_simple2(p, "info-putnodeattr", thread, r < 0 ? 1 : 0, NULL);
    for (size_t i = 0; r == 0 && i < m->n; i++) {
        struct peer *o = &m->peers[i];

        if (o->fd >= 0 && strcmp(o->wanted, key) == 0) {
            o->wanted[0] = '\0';
            answer_value2(o, "info-getnodeattr", o->wanted_thread, value);
        }
    }
}

static void answer_put2(struct pmi *m, struct peer *p, const struct pmi_text *t, const char *thread)
{
    const char *key = pmi_text_get(t, "key"), *value = pmi_text_get(t, "value");
    int r = key && value ? kvs_put(&m->kvs, key, value) : -EINVAL;

    answer_simple2(p, "kvs-put", thread, r < 0 ? 1 : 0,
                   r < 0 ? "a key and a value are needed" : NULL);
}

static void handle_request2(struct pmi *m, struct peer *p, const struct pmi_text *t)
{
    const char *cmd = pmi_text_get(t, "cmd"), *thread = pmi_text_get(t, "thrid");

    if (!cmd) {
        drop_peer(p);
    } else if (strcmp(cmd, "fullinit") == 0) {
        answer_fullinit2(m, p, thread);
    } else if (strcmp(cmd, "job-getid") == 0) {
        answer_jobid2(m, p, thread);
    } else if (strcmp(cmd, "kvs-put") == 0) {
        answer_put2(m, p, t, thread);
    } else if (strcmp(cmd, "kvs-get") == 0) {
        answer_value2(p, cmd, thread, look_up(m, pmi_text_get(t, "key")));
    } else if (strcmp(cmd, "kvs-fence") == 0) {
        (void)snprintf(p->thread, sizeof(p->thread), "%s", thread ? thread : "");
        p->meeting = true;
        join_barrier(m);
    } else if (strcmp(cmd, "info-getjobattr") == 0) {
        job_attr2(m, p, t, thread);
    } else if (strcmp(cmd, "info-getnodeattr") == 0) {
        node_attr2(m, p, t, thread);
    } else if (strcmp(cmd, "info-putnodeattr") == 0) {
        put_node_attr2(m, p, t, thread);
    } else if (strcmp(cmd, "finalize") == 0) {
        answer_simple2(p, cmd, thread, 0, NULL);
    } else if (strcmp(cmd, "abort") == 0) {
        abort_of(m, p, t);
    } else {
        answer_simple2(p, cmd, thread, 14, "this request is not supported"); /* PMI2_ERR_OTHER */
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

static void handle_request(struct pmi *m, struct peer *p)
{
    while (p->fd >= 0) {
        bool framed = p->framed;
        long n = pmi_text_whole(p->in.buf, p->in.len, framed);
        struct pmi_text t;
        char after;

        if (n == 0)
            return;
        if (n < 0) {
            drop_peer(p);
            return;
        }
        after = p->in.buf[n]; /* the buffer always ends with a NUL of its own */
        if (pmi_text_parse(p->in.buf, (size_t)n, framed, &t) < 0)
            drop_peer(p);
        else if (framed)
            handle_request2(m, p, &t);
        else
            handle_request1(m, p, &t);
        p->in.buf[n] = after;
        memmove(p->in.buf, p->in.buf + n, p->in.len - (size_t)n + 1);
        p->in.len -= (size_t)n;
    }
}

static void read_peer(struct pmi *m, struct peer *p)
{
    char *room = strbuf_room(&p->in, READ_CHUNK);
    ssize_t n = room ? read(p->fd, room, READ_CHUNK - 1) : 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        drop_peer(p);
        return;
    }
    strbuf_grew(&p->in, (size_t)n);
    handle_request(m, p);
}

static size_t pmi_poll_fill(struct service *s, struct pollfd *fds)
{
    const struct pmi *m = s->state;

    for (size_t i = 0; i < m->n; i++)
        fds[i] = (struct pollfd){ .fd = m->peers[i].fd, .events = POLLIN };
    return m->n;
}

static void pmi_poll_done(struct service *s, const struct pollfd *fds, size_t n)
{
    struct pmi *m = s->state;

    for (size_t i = 0; i < n; i++)
        if (fds[i].revents && m->peers[i].fd >= 0)
            read_peer(m, &m->peers[i]);
}

/* ---- start and end --------------------------------------------------------------------------- */

static void pmi_stop(struct service *s)
{
    struct pmi *m = s->state;

    for (size_t i = 0; i < m->n; i++) {
        drop_peer(&m->peers[i]);
        strbuf_done(&m->peers[i].in);
    }
    kvs_done(&m->kvs);
    kvs_done(&m->node_attrs);
    free(m->mapping);
    free(m->peers);
    free(m);
}

static int pmi_start(struct service *s)
{
    struct pmi *m = calloc(1, sizeof(*m));

    if (!m)
        return -ENOMEM;
    s->state = m;
    *m = (struct pmi){ .service = s, .kvs = KVS_INIT, .node_attrs = KVS_INIT };
    m->mapping = layout_vector(&s->layout);
    m->peers = calloc(s->n_tasks, sizeof(*m->peers));
    if (!m->mapping || !m->peers)
        return -ENOMEM;
    for (; m->n < s->n_tasks; m->n++) {
        int fd = SERVICE_FD_TASKS + (int)m->n;

        m->peers[m->n] = (struct peer){ .fd = fd, .rank = s->ranks[m->n], .in = STRBUF_INIT };
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return -errno;
    }
    return 0;
}

static const struct service_kind pmi2_kind = {
    .name = "pmi2",
    .start = pmi_start,
    .message = pmi_message,
    .poll_fill = pmi_poll_fill,
    .poll_done = pmi_poll_done,
    .stop = pmi_stop,
};

int main(int argc, char **argv)
{
    return service_main(&pmi2_kind, argc, argv);
}
