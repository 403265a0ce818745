/* confserver.c - which controllers have the configuration; see confserver.h
 *
 * The answer of a name server is read with the functions of libc that check lengths. */
#include "configless/confserver.h"

#include "base/cleanup.h" /* first: resolv.h brings MIN and MAX of its own */

#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"

#define ANSWER_MAX 65536u
#define SRV_FIXED 6 /* priority, weight, port */

static int take_port(const char *text, uint16_t *ret)
{
    int64_t port;

    if (parse_i64(text, 1, 65535, &port) < 0)
        return -EINVAL;
    *ret = (uint16_t)port;
    return 0;
}

/* One server, cut out of the list. */
static int take_server(char *text, struct confserver *ret)
{
    char *host = text, *port = NULL, *end;

    if (*text == '[') {
        end = strchr(++host, ']');
        if (!end || (end[1] && end[1] != ':'))
            return -EINVAL;
        port = end[1] ? end + 2 : NULL;
        *end = '\0';
    } else if ((end = strchr(text, ':'))) {
        if (strchr(end + 1, ':'))
            return -EINVAL; /* an IPv6 address stands in brackets */
        *end = '\0';
        port = end + 1;
    }
    if (!*host || strlen(host) >= sizeof(ret->host) || strpbrk(host, " \t[]/"))
        return -EINVAL;
    (void)snprintf(ret->host, sizeof(ret->host), "%s", host); /* it fits */
    ret->port = CONFSERVER_PORT;
    return port ? take_port(port, &ret->port) : 0;
}

int confserver_parse(const char *text, struct confservers *ret, struct err *err)
{
    struct confservers s = { .n = 0 };
    _cleanup_free_ char *copy = strdup(text);
    char *rest = copy, *word;

    if (!copy)
        return err_nomem(err);
    while ((word = strsep(&rest, ","))) {
        if (s.n == CONFSERVER_MAX)
            return err_set(err, -EINVAL, "\"%.128s\" names more than %u servers", text,
                           CONFSERVER_MAX);
        if (take_server(word, &s.list[s.n]) < 0)
            return err_set(err, -EINVAL,
                           "\"%.128s\" is not of the form host[:port],... (IPv6 in brackets)",
                           text);
        s.n++;
    }
    *ret = s;
    return 0;
}

/* ---- DNS ------------------------------------------------------------------------------------- */

struct record {
    struct confserver server;
    unsigned priority;
};

static int read_record(ns_msg *msg, int i, struct record *ret)
{
    ns_rr rr;
    const uint8_t *data;

    if (ns_parserr(msg, ns_s_an, i, &rr) < 0)
        return -EBADMSG;
    if (ns_rr_type(rr) != ns_t_srv)
        return -ENOENT;
    data = ns_rr_rdata(rr);
    if (ns_rr_rdlen(rr) <= SRV_FIXED)
        return -EBADMSG;
    ret->priority = ns_get16(data);
    ret->server.port = (uint16_t)ns_get16(data + 4);
    if (ns_name_uncompress(ns_msg_base(*msg), ns_msg_end(*msg), data + SRV_FIXED, ret->server.host,
                           sizeof(ret->server.host)) < 0)
        return -EBADMSG;
    return ret->server.host[0] && strcmp(ret->server.host, ".") != 0 && ret->server.port ? 0
                                                                                         : -ENOENT;
}

/* Behind those of its priority and of lower ones; the last one makes room. */
static void put_record(struct record *list, size_t *n, const struct record *one)
{
    size_t at = *n;

    while (at > 0 && list[at - 1].priority > one->priority)
        at--;
    if (at == CONFSERVER_MAX)
        return;
    if (*n < CONFSERVER_MAX)
        ++*n;
    memmove(&list[at + 1], &list[at], (*n - at - 1) * sizeof(*list));
    list[at] = *one;
}

int confserver_read_answer(const uint8_t *answer, size_t len, struct confservers *ret)
{
    struct record list[CONFSERVER_MAX], one;
    size_t n = 0;
    ns_msg msg;

    if (len > ANSWER_MAX || ns_initparse(answer, (int)len, &msg) < 0)
        return -EBADMSG;
    for (int i = 0; i < ns_msg_count(msg, ns_s_an); i++) {
        int r = read_record(&msg, i, &one);

        if (r == -EBADMSG)
            return r;
        if (r == 0)
            put_record(list, &n, &one);
    }
    if (n == 0)
        return -ENOENT;
    *ret = (struct confservers){ .n = n };
    for (size_t i = 0; i < n; i++)
        ret->list[i] = list[i].server;
    return 0;
}

int confserver_from_dns(struct confservers *ret, struct err *err)
{
    _cleanup_free_ uint8_t *answer = malloc(ANSWER_MAX);
    int len, r;

    if (!answer)
        return err_nomem(err);
    len = res_search("_slurmctld._tcp", ns_c_in, ns_t_srv, answer, (int)ANSWER_MAX);
    if (len < 0 && h_errno == TRY_AGAIN)
        return err_set(err, -EAGAIN, "no name server answers for _slurmctld._tcp (SRV)");
    r = len < 0 ? -ENOENT
                : confserver_read_answer(answer, MIN((size_t)len, (size_t)ANSWER_MAX), ret);
    return r == -EBADMSG ? err_set(err, r, "what DNS says of _slurmctld._tcp (SRV) cannot be read")
           : r < 0       ? err_set(err, r, "DNS has no SRV record _slurmctld._tcp")
                         : 0;
}
