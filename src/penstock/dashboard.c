/* dashboard.c - the private cluster's dashboard; see dashboard.h
 *
 * slurmctld serves it at its own port (SlurmctldParameters=enable_rest).  What is left to do here
 * is to wait for it, and to have the user signed in. */
#include "penstock/dashboard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "wire/client.h"
#include "wire/ops.h"

#define START_S 20
#define LOOK_MS 20 /* between two questions */
#define CALL_MS 5000

/* Does it answer with the page? */
static bool answers_at(uint16_t port)
{
    static const char question[] = "HEAD /ui/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      good[] = "HTTP/1.1 200 ";
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct timeval patience = { .tv_sec = CALL_MS / 1000 };
    char answer[sizeof(good) - 1];

    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
           connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 &&
           send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) > 0 &&
           recv(fd, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer) &&
           memcmp(answer, good, sizeof(answer)) == 0;
}

static int wait_answer(uint16_t port, struct err *err)
{
    int64_t deadline = now_mono_us() + START_S * USEC_PER_SEC;

    while (!answers_at(port)) {
        if (now_mono_us() >= deadline)
            return err_set(err, -ETIMEDOUT,
                           "port %u does not answer with it: see log/slurmctld.log", port);
        (void)poll(NULL, 0, LOOK_MS); /* an early wake-up is harmless */
    }
    return 0;
}

/* The local socket, where the kernel says whose word it is. */
static int fetch_word(const struct conf *conf, char **ret, struct err *err)
{
    Pst__TokenRequest request = PST__TOKEN_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct client *client = NULL;
    int r = instance_connect(conf, CALL_MS, &client, err);

    if (r < 0)
        return r;
    request.has_lifespan_s = request.has_as_word = request.as_word = true;
    request.lifespan_s = DASHBOARD_SESSION_S;
    r = client_call(client, OP_TOKEN, &request.base, &reply);
    if (r < 0) {
        err_set(err, r, "the controller signs nobody in: %s", client_strerror(client, r));
    } else {
        const Pst__TokenReply *answer = PB_AS(token_reply, reply);

        *ret = answer->word ? strdup(answer->word) : NULL;
        r = *ret           ? 0
            : answer->word ? err_nomem(err)
                           : err_set(err, -EPROTO, "the controller is older: it makes no words");
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    client_free(client);
    return r;
}

/* What its slurm.conf lacks, NULL: nothing. */
static const char *missing_word(const struct conf *conf)
{
    if (!conf_use_jwt(conf))
        return "AuthAltTypes=auth/jwt";
    if (!conf_option(conf, CONF_SLURMCTLD_PARAMETERS, "enable_rest", NULL, NULL))
        return "SlurmctldParameters=enable_rest";
    return NULL;
}

int dashboard_up(const struct conf *conf, char **ret_address, struct err *err)
{
    _cleanup_free_ char *word = NULL;
    uint16_t port = conf_ctld_port(conf);
    int r;

    if (missing_word(conf))
        return err_set(err, -ENOTSUP, "its slurm.conf has no %s", missing_word(conf));
    r = wait_answer(port, err);
    if (r == 0) /* last: its minute begins */
        r = fetch_word(conf, &word, err);
    if (r < 0)
        return r;
    if (asprintf(ret_address, "http://127.0.0.1:%u/ui/#word=%s", port, word) < 0)
        return err_nomem(err);
    return 0;
}
