/* bench_http.c - requests a second over kept HTTP connections
 *
 * C connections, a thread each, send the same request N times in all to 127.0.0.1:PORT and read
 * each answer whole before the next.  What the driver costs is part of what is measured.  Without
 * a port there is nothing to measure; `bench/run rest` has one. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define MAX_CONNECTIONS 256u
#define ANSWER_MAX (1024u * 1024)

struct load {
    uint64_t requests, connections, port;
    const char *method, *path, *token, *body;
    char *text;
    size_t len;
    atomic_uint_fast64_t left, good, bad;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_http: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int connect_one(const struct load *l)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)l->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        die("connect");
    return fd;
}

/* Bytes of the whole answer in buf; 0 when more must come. */
static size_t answer_size(const char *buf, size_t len)
{
    const char *end = memmem(buf, len, "\r\n\r\n", 4), *size;
    size_t head;

    if (!end)
        return 0;
    head = (size_t)(end - buf) + 4;
    size = memmem(buf, head, "Content-Length: ", 16);
    if (!size) {
        errno = EPROTO;
        die("an answer without a length");
    }
    head += strtoul(size + 16, NULL, 10);
    return len >= head ? head : 0;
}

static bool take_answer(int fd, char *buf)
{
    size_t len = 0;

    while (!answer_size(buf, len)) {
        ssize_t n = len < ANSWER_MAX ? recv(fd, buf + len, ANSWER_MAX - len, 0) : 0;

        if (n <= 0)
            die("receive");
        len += (size_t)n;
    }
    return strncmp(buf, "HTTP/1.1 200", 12) == 0;
}

static void *send_all(void *arg)
{
    struct load *l = arg;
    char *buf = malloc(ANSWER_MAX);
    int fd = connect_one(l);

    if (!buf)
        die("memory");
    for (uint64_t n = atomic_fetch_sub(&l->left, 1); n > 0 && n <= l->requests;
         n = atomic_fetch_sub(&l->left, 1)) {
        if (send(fd, l->text, l->len, MSG_NOSIGNAL) != (ssize_t)l->len)
            die("send");
        atomic_fetch_add(take_answer(fd, buf) ? &l->good : &l->bad, 1);
    }
    (void)close(fd);
    free(buf);
    return NULL;
}

static void make_request(struct load *l)
{
    int n = asprintf(&l->text,
                     "%s %s HTTP/1.1\r\nHost: bench\r\nX-SLURM-USER-TOKEN: %s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     l->method, l->path, l->token, strlen(l->body), l->body);

    if (n < 0)
        die("memory");
    l->len = (size_t)n;
}

static uint64_t number(const char *text, uint64_t max)
{
    uint64_t n;

    if (parse_u64(text, 1, max, &n) == 0)
        return n;
    errno = EINVAL;
    die(text);
    return 0;
}

static void read_options(struct load *l, int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "b:c:m:n:p:t:u:")) != -1)
        switch (c) {
        case 'b':
            l->body = optarg;
            break;
        case 'c':
            l->connections = number(optarg, MAX_CONNECTIONS);
            break;
        case 'm':
            l->method = optarg;
            break;
        case 'n':
            l->requests = number(optarg, 100000000);
            break;
        case 'p':
            l->port = number(optarg, 65535);
            break;
        case 't':
            l->token = optarg;
            break;
        case 'u':
            l->path = optarg;
            break;
        default:
            exit(2);
        }
}

int main(int argc, char **argv)
{
    static struct load l = {
        .requests = 20000, .connections = 8, .method = "GET", .path = "/", .token = "", .body = ""
    };
    pthread_t threads[MAX_CONNECTIONS];
    int64_t start;
    double seconds;

    read_options(&l, argc, argv);
    if (!l.port) {
        fprintf(stderr, "bench_http: no port is given by -p; see `bench/run rest`\n");
        return 0;
    }
    make_request(&l);
    atomic_store(&l.left, l.requests);
    start = now_mono_us();
    for (uint64_t i = 0; i < l.connections; i++)
        if (pthread_create(&threads[i], NULL, send_all, &l) != 0)
            die("thread");
    for (uint64_t i = 0; i < l.connections; i++)
        (void)pthread_join(threads[i], NULL);
    seconds = (double)(now_mono_us() - start) / 1e6;
    printf("{\"bench\": \"http\", \"connections\": %llu, \"good\": %llu, \"bad\": %llu, "
           "\"seconds\": %.3f, \"per_s\": %.0f}\n",
           (unsigned long long)l.connections, (unsigned long long)atomic_load(&l.good),
           (unsigned long long)atomic_load(&l.bad), seconds,
           (double)atomic_load(&l.good) / seconds);
    free(l.text);
    return 0;
}
