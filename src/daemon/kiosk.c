/* kiosk.c - see kiosk.h
 *
 * The thread owns the connections; what it vouches with is under the lock.  Whoever connects is a
 * stranger: what he sends is bounded before it is read, and is parsed by vouch_answer() alone. */
#include "daemon/kiosk.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "wire/auth/ident.h"
#include "wire/auth/vouch.h"

#define PLACES 64u
#define PLACES_OF_USER 16u
#define PATIENCE_US (5 * USEC_PER_SEC)
#define PRESSED_US 100000 /* that long a caller has his place to himself when all are taken */
#define DEAF_US 100000    /* after a caller for whom there was no descriptor */
#define HEAD 4u

struct caller {
    int fd; /* -1: the place is free */
    uid_t uid;
    gid_t gid;
    int64_t deadline_mono_us;
    size_t have;
    uint8_t in[HEAD + VOUCH_BYTES_MAX];
};

struct kiosk {
    pthread_t thread;
    int listen_fd, wake_fd;
    struct sockaddr_un sa;
    char folder[VOUCH_PATH_MAX];
    bool made_folder;
    pthread_mutex_t lock;
    struct auth_keys *keys; /* NULL: none */
    bool has_node;
    uint8_t node_key[IDKEY_SIZE], node_secret[HANDSHAKE_SECRET_SIZE];
    struct caller callers[PLACES];
    int64_t deaf_until_mono_us;
};

/* ---- answers --------------------------------------------------------------------------------- */

static int answer_with_keys(struct auth_keys *keys, const struct caller *c, uint8_t **ret,
                            size_t *ret_len)
{
    struct vouch_secret with = { .node_key = NULL, .identify = ident_make };
    int r = auth_derive(keys, NULL, AUTH_FOR_VOUCH, NULL, 0, with.secret, &with.key_id);

    if (r == 0)
        r = vouch_answer(&with, c->uid, c->gid, c->in + HEAD, c->have - HEAD, ret, ret_len);
    explicit_bzero(&with, sizeof(with));
    return r;
}

static int answer_as_node(struct kiosk *k, const struct caller *c, uint8_t **ret, size_t *ret_len)
{
    struct vouch_secret with = { .key_id = NULL };
    uint8_t node_key[IDKEY_SIZE];
    bool has;
    int r;

    pthread_mutex_lock(&k->lock);
    has = k->has_node;
    memcpy(node_key, k->node_key, sizeof(node_key));
    memcpy(with.secret, k->node_secret, sizeof(with.secret));
    pthread_mutex_unlock(&k->lock);
    with.node_key = node_key;
    r = has ? vouch_answer(&with, c->uid, c->gid, c->in + HEAD, c->have - HEAD, ret, ret_len)
            : vouch_refuse("this host has no key to vouch with yet", ret, ret_len);
    explicit_bzero(&with, sizeof(with));
    return r;
}

static void answer_caller(struct kiosk *k, const struct caller *c)
{
    _cleanup_free_ uint8_t *reply = NULL;
    struct auth_keys *keys;
    size_t len = 0;
    int r;

    pthread_mutex_lock(&k->lock);
    keys = k->keys ? auth_keys_ref(k->keys) : NULL;
    pthread_mutex_unlock(&k->lock);
    r = keys ? answer_with_keys(keys, c, &reply, &len) : answer_as_node(k, c, &reply, &len);
    (void)auth_keys_free(keys); /* always NULL */
    if (r < 0) {
        log_limited(LOG_ERROR, "cannot vouch for a command: %s uid=%u", strerror(-r), c->uid);
        return;
    }
    /* It fits into the socket's empty buffer; who does not take it has gone. */
    (void)send(c->fd, reply, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    explicit_bzero(reply, len);
}

/* ---- callers --------------------------------------------------------------------------------- */

static void drop_caller(struct caller *c)
{
    (void)close(c->fd); /* nothing is to be saved there */
    c->fd = -1;
}

static struct caller *find_place(struct kiosk *k, uid_t uid)
{
    struct caller *place = NULL;
    unsigned own = 0;

    for (unsigned i = 0; i < PLACES; i++) {
        if (k->callers[i].fd < 0)
            place = place ? place : &k->callers[i];
        else
            own += k->callers[i].uid == uid;
    }
    return own < PLACES_OF_USER ? place : NULL;
}

static void take_caller(struct kiosk *k)
{
    int fd = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred cred;
    socklen_t len = sizeof(cred);
    struct caller *c = NULL;

    if (fd < 0) { /* he has gone, or there are no descriptors: poll(2) would come back at once */
        k->deaf_until_mono_us = now_mono_us() + DEAF_US;
        return;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0)
        c = find_place(k, cred.uid);
    if (!c) {
        (void)close(fd); /* his other places first */
        return;
    }
    c->fd = fd;
    c->uid = cred.uid;
    c->gid = cred.gid;
    c->deadline_mono_us = now_mono_us() + PATIENCE_US;
    c->have = 0;
}

/* Is the request whole?  -EMSGSIZE: it is too long. */
static int judge_length(const struct caller *c)
{
    uint32_t n;

    if (c->have < HEAD)
        return 0;
    memcpy(&n, c->in, HEAD);
    n = le32toh(n);
    if (n > VOUCH_BYTES_MAX || c->have > HEAD + n)
        return -EMSGSIZE;
    return c->have == HEAD + n;
}

static void read_caller(struct kiosk *k, struct caller *c)
{
    ssize_t n = recv(c->fd, c->in + c->have, sizeof(c->in) - c->have, 0);
    int whole;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->have += (size_t)n;
    whole = n <= 0 ? -ECONNRESET : judge_length(c);
    if (whole > 0)
        answer_caller(k, c);
    if (whole != 0)
        drop_caller(c);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Drop who had his time.  With no place free that is short for the one who came first: a command
 * sends its request at once, and one user may have many numbers (user namespaces).  Gives when the
 * next one has had it; *ret_room: is a place free? */
static int64_t drop_late(struct kiosk *k, int64_t now, bool *ret_room)
{
    int64_t next = INT64_MAX;
    struct caller *first = NULL;

    *ret_room = false;
    for (unsigned i = 0; i < PLACES; i++) {
        struct caller *c = &k->callers[i];

        if (c->fd >= 0 && c->deadline_mono_us <= now)
            drop_caller(c);
        if (c->fd < 0)
            *ret_room = true;
        else if (!first || c->deadline_mono_us < first->deadline_mono_us)
            first = c;
    }
    if (first)
        next = first->deadline_mono_us - (*ret_room ? 0 : PATIENCE_US - PRESSED_US);
    if (first && next <= now) {
        drop_caller(first);
        *ret_room = true;
        next = now; /* who is next is looked for in the next turn */
    }
    return next;
}

/* The descriptors to wait for: wake, listener, callers.  Gives the time until one has waited long
 * enough. */
static int fill_polls(struct kiosk *k, struct pollfd polls[2 + PLACES])
{
    int64_t now = now_mono_us();
    bool room, deaf = now < k->deaf_until_mono_us;
    int64_t next = drop_late(k, now, &room);

    if (deaf)
        next = MIN(next, k->deaf_until_mono_us);
    for (unsigned i = 0; i < PLACES; i++)
        polls[2 + i] = (struct pollfd){ .fd = k->callers[i].fd, .events = POLLIN };
    polls[0] = (struct pollfd){ .fd = k->wake_fd, .events = POLLIN };
    polls[1] = (struct pollfd){ .fd = room && !deaf ? k->listen_fd : -1, .events = POLLIN };
    return next == INT64_MAX ? -1 : (int)((next - now) / 1000 + 1);
}

static void *run_kiosk(void *arg)
{
    struct kiosk *k = arg;
    struct pollfd polls[2 + PLACES];

    for (;;) {
        int wait_ms = fill_polls(k, polls);

        if (poll(polls, 2 + PLACES, wait_ms) < 0)
            continue; /* a signal */
        if (polls[0].revents)
            return NULL;
        for (unsigned i = 0; i < PLACES; i++)
            if (polls[2 + i].fd >= 0 && polls[2 + i].revents)
                read_caller(k, &k->callers[i]);
        if (polls[1].revents)
            take_caller(k);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static int name_paths(struct kiosk *k, const char *service, struct err *err)
{
    const char *given = getenv("RUNTIME_DIRECTORY");
    bool is_given = given && given[0] == '/';
    int n = snprintf(k->folder, sizeof(k->folder), "%s%s", is_given ? "" : "/run/",
                     is_given ? given : service);

    k->sa.sun_family = AF_UNIX;
    if (n > 0 && (size_t)n < sizeof(k->folder))
        n = snprintf(k->sa.sun_path, sizeof(k->sa.sun_path), "%s/" VOUCH_SOCKET, k->folder);
    return n > 0 && (size_t)n < sizeof(k->sa.sun_path)
               ? 0
               : err_set(err, -ENAMETOOLONG, "%.60s...: too long for the path of a socket",
                         k->folder);
}

const char *kiosk_given_path(const struct kiosk *k)
{
    return strncmp(k->folder, "/run/slurm", sizeof("/run/slurm")) == 0 ? NULL : k->sa.sun_path;
}

static int make_folder(struct kiosk *k, uid_t owner, struct err *err)
{
    if (mkdir(k->folder, 0755) == 0) {
        k->made_folder = true;
        if (geteuid() == 0 && owner != 0 && chown(k->folder, owner, (gid_t)-1) < 0)
            return err_set(err, -errno, "%s: %s", k->folder, strerror(errno));
        return 0;
    }
    return errno == EEXIST ? 0 : err_set(err, -errno, "%s: %s", k->folder, strerror(errno));
}

/* Does a daemon listen there?  What a daemon has left behind that was killed answers nobody. */
static bool is_taken(const struct kiosk *k)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return fd >= 0 &&
           (connect(fd, (const struct sockaddr *)&k->sa, sizeof(k->sa)) == 0 || errno == EAGAIN);
}

static int bind_socket(struct kiosk *k, struct err *err)
{
    if (is_taken(k))
        return err_set(err, -EADDRINUSE, "%s: another daemon has it", k->sa.sun_path);
    (void)unlink(k->sa.sun_path); /* if that fails, bind() says so */
    k->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (k->listen_fd < 0 ||
        bind(k->listen_fd, (const struct sockaddr *)&k->sa, sizeof(k->sa)) < 0 ||
        chmod(k->sa.sun_path, 0666) < 0 || listen(k->listen_fd, SOMAXCONN) < 0)
        return err_set(err, -errno, "%s: %s", k->sa.sun_path, strerror(errno));
    return 0;
}

static void free_kiosk(struct kiosk *k)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (k->callers[i].fd >= 0)
            drop_caller(&k->callers[i]);
    if (k->listen_fd >= 0) {
        (void)unlink(k->sa.sun_path); /* it may have been removed by others */
        (void)close(k->listen_fd);
    }
    if (k->wake_fd >= 0)
        (void)close(k->wake_fd);
    if (k->made_folder)
        (void)rmdir(k->folder);    /* kept while others use it */
    (void)auth_keys_free(k->keys); /* always NULL */
    pthread_mutex_destroy(&k->lock);
    explicit_bzero(k, sizeof(*k));
    free(k);
}

int kiosk_open(const char *service, uid_t owner, struct kiosk **ret, struct err *err)
{
    struct kiosk *k = calloc(1, sizeof(*k));
    int r;

    if (!k)
        return err_nomem(err);
    pthread_mutex_init(&k->lock, NULL);
    k->listen_fd = -1;
    for (unsigned i = 0; i < PLACES; i++)
        k->callers[i].fd = -1;
    k->wake_fd = eventfd(0, EFD_CLOEXEC);
    r = k->wake_fd < 0 ? err_set(err, -errno, "%s", strerror(errno)) : name_paths(k, service, err);
    if (r == 0)
        r = make_folder(k, owner, err);
    if (r == 0)
        r = bind_socket(k, err);
    if (r == 0) {
        r = -pthread_create(&k->thread, NULL, run_kiosk, k);
        if (r < 0)
            (void)err_set(err, r, "%s", strerror(-r)); /* given back below */
    }
    if (r < 0) {
        free_kiosk(k);
        return r;
    }
    log_info("vouching for commands of this host at %s", k->sa.sun_path);
    *ret = k;
    return 0;
}

void kiosk_set_keys(struct kiosk *k, struct auth_keys *keys)
{
    struct auth_keys *old;

    pthread_mutex_lock(&k->lock);
    old = k->keys;
    k->keys = keys ? auth_keys_ref(keys) : NULL;
    pthread_mutex_unlock(&k->lock);
    (void)auth_keys_free(old); /* always NULL */
}

int kiosk_set_node(struct kiosk *k, const struct idkey *identity,
                   const uint8_t controller_key[IDKEY_SIZE])
{
    uint8_t secret[HANDSHAKE_SECRET_SIZE];
    int r = idkey_secret(identity, controller_key, IDKEY_FOR_VOUCH, secret);

    if (r < 0)
        return r;
    pthread_mutex_lock(&k->lock);
    memcpy(k->node_secret, secret, sizeof(secret));
    memcpy(k->node_key, idkey_public(identity), IDKEY_SIZE);
    k->has_node = true;
    pthread_mutex_unlock(&k->lock);
    explicit_bzero(secret, sizeof(secret));
    return 0;
}

struct kiosk *kiosk_close(struct kiosk *k)
{
    uint64_t one = 1;

    if (!k)
        return NULL;
    if (write(k->wake_fd, &one, sizeof(one)) == (ssize_t)sizeof(one)) /* never full */
        (void)pthread_join(k->thread, NULL);
    free_kiosk(k);
    return NULL;
}
