/* bench_wire.c - what a call costs on a kept connection, against the machine's own ping-pong
 *
 * One JSON object a line: calls a second over the local socket and TCP loopback, each as a ratio to
 * raw ping-pong of the same bytes over a socket pair between two threads; a streamed query in bytes
 * a second. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/auth/auth.h"
#include "wire/client.h"
#include "wire/server/server.h"

#define ROUND_US INT64_C(500000)
#define PING_BYTES 64
#define STREAM_FRAMES 4000u

DEFINE_CLEANUP(struct client *, client_free)

static void die(const char *what)
{
    fprintf(stderr, "bench_wire: %s\n", what);
    exit(1);
}

/* ---- the machine's limit --------------------------------------------------------------------- */

static void *echo_main(void *arg)
{
    int fd = *(int *)arg;
    char buf[PING_BYTES];

    for (;;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        (void)poll(&p, 1, -1); /* as both sides of a call do */
        if (recv(fd, buf, sizeof(buf), 0) <= 0 || send(fd, buf, sizeof(buf), MSG_NOSIGNAL) < 0)
            return NULL;
    }
}

static double raw_rate(void)
{
    int sv[2];
    char buf[PING_BYTES] = { 0 };
    pthread_t t;
    int64_t start, end;
    unsigned long n = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0 ||
        pthread_create(&t, NULL, echo_main, &sv[1]) != 0)
        die("no socket pair");
    start = now_mono_us();
    do {
        for (int i = 0; i < 100; i++, n++) {
            struct pollfd p = { .fd = sv[0], .events = POLLIN };

            if (send(sv[0], buf, sizeof(buf), MSG_NOSIGNAL) < 0 || poll(&p, 1, -1) != 1 ||
                recv(sv[0], buf, sizeof(buf), 0) <= 0)
                die("raw ping-pong failed");
        }
        end = now_mono_us();
    } while (end - start < ROUND_US);
    (void)close(sv[0]);
    (void)pthread_join(t, NULL);
    (void)close(sv[1]);
    return (double)n * 1e6 / (double)(end - start);
}

/* ---- the server ------------------------------------------------------------------------------ */

struct production {
    uint32_t id, left;
};

static bool produce(struct conn *c, void *arg)
{
    static uint8_t record[64 * 1024];
    ProtobufCBinaryData data = { .len = sizeof(record), .data = record };
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;
    struct production *p = arg;

    batch.records = &data;
    batch.n_records = 1;
    (void)conn_reply(c, OP_QUERY_JOBS, p->id, --p->left ? FRAME_MORE : 0, &batch.base);
    return p->left > 0;
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    if (frame->op == OP_QUERY_JOBS) {
        struct production *p = calloc(1, sizeof(*p));

        *p = (struct production){ .id = frame->id, .left = STREAM_FRAMES };
        conn_stream(c, produce, free, p);
    } else {
        Pst__PingReply reply = PST__PING_REPLY__INIT;

        reply.host = (char *)"localhost";
        (void)conn_reply(c, OP_PING, frame->id, 0, &reply.base);
    }
}

static double call_rate(const struct client_target *t)
{
    _cleanup_(client_free) struct client *c = NULL;
    struct err err;
    int64_t start, end;
    unsigned long n = 0;

    if (client_connect(t, geteuid(), &c, &err) < 0)
        die(err.text);
    if (client_call(c, OP_PING, NULL, NULL) < 0)
        die("call failed");
    start = now_mono_us();
    do {
        for (int i = 0; i < 100; i++, n++) {
            ProtobufCMessage *reply;

            if (client_call(c, OP_PING, NULL, &reply) < 0)
                die("call failed");
            protobuf_c_message_free_unpacked(reply, NULL);
        }
        end = now_mono_us();
    } while (end - start < ROUND_US);
    return (double)n * 1e6 / (double)(end - start);
}

static int count_bytes(void *ctx, const struct frame *frame)
{
    *(uint64_t *)ctx += frame->len;
    return 0;
}

static double stream_rate(const struct client_target *t)
{
    _cleanup_(client_free) struct client *c = NULL;
    struct err err;
    uint64_t bytes = 0;
    int64_t start;

    if (client_connect(t, geteuid(), &c, &err) < 0)
        die(err.text);
    start = now_mono_us();
    if (client_stream(c, OP_QUERY_JOBS, NULL, count_bytes, &bytes) < 0)
        die("stream failed");
    return (double)bytes / (double)(now_mono_us() - start); /* MB/s */
}

static double connect_rate(const struct client_target *t)
{
    int64_t start = now_mono_us(), end;
    unsigned long n = 0;

    do {
        _cleanup_(client_free) struct client *c = NULL;
        struct err err;

        if (client_connect(t, geteuid(), &c, &err) < 0 || client_call(c, OP_PING, NULL, NULL) < 0)
            die("connecting failed");
        n++;
        end = now_mono_us();
    } while (end - start < ROUND_US);
    return (double)n * 1e6 / (double)(end - start);
}

int main(void)
{
    char key_file[] = "/tmp/bench_wire.XXXXXX";
    struct auth_keys *keys = NULL;
    struct server *server = NULL;
    struct err err = { .text = "" };
    int fd = mkstemp(key_file);
    double raw = raw_rate();

    if (fd < 0 || close(fd) < 0 || unlink(key_file) < 0 || auth_keys_create(key_file, &err) < 0 ||
        auth_keys_load(key_file, &keys, &err) < 0)
        die("no key file");
    struct server_config config = {
        .any_port = true,
        .bind_addr = "127.0.0.1",
        .local_socket = true,
        .threads = 1,
        .cluster = "bench",
        .serves = ACCESS_AT(ACCESS_CTLD),
        .keys = keys,
        .hooks = { .on_request = on_request },
    };
    if (server_new(&config, &server, &err) < 0 || server_start(server) < 0)
        die(err.text);
    for (int local = 1; local >= 0; local--) {
        struct client_target t = { .host = "127.0.0.1",
                                   .port = server_port(server),
                                   .try_local = local,
                                   .cluster = "bench",
                                   .key_file = key_file,
                                   .timeout_ms = 10000,
                                   .program = "bench_wire" };
        double calls = call_rate(&t);
        const char *name = local ? "local" : "tcp";

        printf("{\"bench\":\"wire_call_%s\",\"calls_per_s\":%.0f,\"raw_pingpong_per_s\":%.0f,"
               "\"ratio\":%.3f}\n",
               name, calls, raw, calls / raw);
        printf("{\"bench\":\"wire_connect_call_%s\",\"per_s\":%.0f,\"ratio_to_kept\":%.3f}\n", name,
               connect_rate(&t), connect_rate(&t) / calls);
        printf("{\"bench\":\"wire_stream_%s\",\"mb_per_s\":%.0f}\n", name, stream_rate(&t));
    }
    (void)unlink(key_file);
    server = server_free(server);
    keys = auth_keys_free(keys);
    return 0;
}
