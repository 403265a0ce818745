/* tlsrefuse.c - see tlsrefuse.h
 *
 * What a thread works on is its own; nothing is shared. */
#include "noded/link/tlsrefuse.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.pb-c.h"

#include "wire/client.h"
#include "wire/tls/tls.h"

#define PATIENCE_MS 5000

struct refusal {
    int fd;
    uint8_t key[TLS_KEY_SIZE];
    size_t key_len;
    unsigned op;
    uint32_t request_id;
    int code;
    char text[256];
};

static void *send_refusal(void *arg)
{
    struct refusal *f = arg;
    Pst__Error e = PST__ERROR__INIT;
    struct client *c = NULL;

    e.has_code = true;
    e.code = f->code;
    e.text = f->text;
    if (client_from_stream(f->fd, (ProtobufCBinaryData){ f->key_len, f->key }, &c) == 0) {
        client_set_timeout(c, PATIENCE_MS);
        /* gone: it knows */
        (void)client_send(c, f->op, FRAME_REPLY | FRAME_ERROR, f->request_id, &e.base);
        (void)client_free(c); /* always NULL; closes */
    } else {
        (void)close(f->fd); /* no library: nothing can be said */
    }
    explicit_bzero(f, sizeof(*f));
    free(f);
    return NULL;
}

void tlsrefuse(int fd, ProtobufCBinaryData stream_key, unsigned op, uint32_t request_id, int code,
               const char *text)
{
    struct refusal *f = calloc(1, sizeof(*f));
    pthread_attr_t attr;
    pthread_t thread;
    int r = f && stream_key.len <= sizeof(f->key) ? 0 : -1;

    if (r == 0) {
        *f = (struct refusal){
            .fd = fd, .key_len = stream_key.len, .op = op, .request_id = request_id, .code = code
        };
        memcpy(f->key, stream_key.data, stream_key.len);
        (void)snprintf(f->text, sizeof(f->text), "%s", text ? text : ""); /* cut is fine */
        (void)pthread_attr_init(&attr);                                   /* these cannot fail */
        (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        r = pthread_create(&thread, &attr, send_refusal, f);
        (void)pthread_attr_destroy(&attr);
    }
    if (r == 0)
        return;
    free(f);
    (void)close(fd); /* it sees the end of the connection */
}
