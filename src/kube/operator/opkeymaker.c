/* opkeymaker.c - see opkeymaker.h
 *
 * The thread writes `keys` and `result`; the loop reads them after it has joined the thread. */
#include "kube/operator/opkeymaker.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkbase.h"
#include "kube/make/sshkeys.h"

struct opkeymaker {
    void (*made)(void *ctx);
    void *ctx;
    pthread_t thread;
    bool running;
    atomic_bool unwanted;
    int fd;
    int result; /* 1: a set is there; 0: none; or why the last one could not be made */
    struct sshkey keys[SSHKEYS_TYPES];
};

static bool is_wanted(void *ctx)
{
    struct opkeymaker *m = ctx;

    return !atomic_load(&m->unwanted);
}

static void drop_keys(struct opkeymaker *m)
{
    for (size_t i = 0; i < SSHKEYS_TYPES; i++)
        sshkey_done(&m->keys[i]);
}

static void *make_keys(void *arg)
{
    struct opkeymaker *m = arg;
    uint64_t one = 1;
    int r = 0;

    for (size_t i = 0; i < SSHKEYS_TYPES && r == 0; i++)
        r = sshkeys_make((enum sshkeys_type)i, is_wanted, m, &m->keys[i]);
    m->result = r < 0 ? r : 1;
    while (write(m->fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue; /* a counter that is 0 takes a 1 */
    return NULL;
}

static void join_maker(struct opkeymaker *m)
{
    (void)pthread_join(m->thread, NULL);
    m->running = false;
    if (m->result < 0)
        drop_keys(m);
}

static void take_event(void *ctx)
{
    struct opkeymaker *m = ctx;
    uint64_t n;

    if (read(m->fd, &n, sizeof(n)) != (ssize_t)sizeof(n) || !m->running)
        return;
    join_maker(m);
    m->made(m->ctx);
}

int opkeymaker_new(struct kubeloop *loop, void (*made)(void *ctx), void *ctx,
                   struct opkeymaker **ret)
{
    struct opkeymaker *m = calloc(1, sizeof(*m));
    int r;

    if (!m)
        return -ENOMEM;
    m->made = made;
    m->ctx = ctx;
    m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = m->fd < 0 ? -errno : kubeloop_watch_fd(loop, m->fd, take_event, m);
    if (r < 0) {
        (void)opkeymaker_free(m);
        return r;
    }
    *ret = m;
    return 0;
}

struct opkeymaker *opkeymaker_free(struct opkeymaker *m)
{
    if (!m)
        return NULL;
    atomic_store(&m->unwanted, true);
    if (m->running)
        join_maker(m);
    drop_keys(m);
    if (m->fd >= 0)
        (void)close(m->fd);
    free(m);
    return NULL;
}

static int start_making(struct opkeymaker *m)
{
    int r;

    m->result = 0;
    r = -pthread_create(&m->thread, NULL, make_keys, m);
    m->running = r == 0;
    return r;
}

int opkeymaker_take(struct opkeymaker *m, json_t **ret)
{
    _cleanup_json_ json_t *data = NULL;
    int failed = m->running ? 0 : m->result, r;

    *ret = NULL;
    if (m->running)
        return 0;
    if (m->result <= 0) {
        r = start_making(m);
        return failed ? failed : r;
    }
    data = json_object();
    for (size_t i = 0; i < SSHKEYS_TYPES; i++) {
        const struct sshkey *k = &m->keys[i];

        if (json_object_set_new(data, sshkeys_file((enum sshkeys_type)i),
                                mkbase_base64(k->secret, strlen(k->secret))) < 0 ||
            json_object_set_new(data, sshkeys_public_file((enum sshkeys_type)i),
                                mkbase_base64(k->public, strlen(k->public))) < 0)
            return -ENOMEM;
    }
    drop_keys(m);
    m->result = 0;
    *ret = TAKE_PTR(data);
    return 0;
}
