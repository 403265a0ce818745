/* hello.c - the caller's half of the handshake
 *
 * Owns nothing; any thread.  What the server's half checks: server_hello.c. */
#include "wire/hello.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "version.h"

#define PROGRAM_MAX 31

static bool has_text(const char *s)
{
    return s && s[0];
}

static int choose_key(const struct client_target *target, struct auth_keys **ret_keys,
                      struct err *err)
{
    int r = has_text(target->key_file) ? auth_keys_load(target->key_file, ret_keys, err) : -ENOENT;

    if (r == -ENOENT || r == -EACCES)
        return err_set(
            err, -EACCES,
            "Invalid authentication credential: no token in SLURM_JWT, no munge, and the "
            "key file %s%s",
            has_text(target->key_file) ? target->key_file : "is not configured",
            !has_text(target->key_file) ? ""
            : r == -ENOENT              ? " does not exist"
                                        : " is not readable");
    return r;
}

int hello_choose(const struct client_target *target, bool local, unsigned *ret_method,
                 struct auth_keys **ret_keys, struct err *err)
{
    int r;

    if (target->no_auth)
        *ret_method = HELLO_NONE;
    else if (has_text(target->jwt))
        *ret_method = PST__AUTH_METHOD__AUTH_JWT;
    else if (local)
        *ret_method = PST__AUTH_METHOD__AUTH_PEERCRED;
    else if (target->use_munge)
        *ret_method = PST__AUTH_METHOD__AUTH_MUNGE;
    else {
        r = choose_key(target, ret_keys, err);
        if (r < 0)
            return r;
        *ret_method = PST__AUTH_METHOD__AUTH_KEY;
    }
    return 0;
}

int hello_version(const Pst__Challenge *challenge, uint16_t *ret_version, struct err *err)
{
    uint32_t min = challenge->min_version, max = challenge->max_version;
    uint32_t speak = max < WIRE_VERSION ? max : WIRE_VERSION;

    if (speak < WIRE_VERSION_MIN || speak < min)
        return err_set(
            err, -EPROTO,
            "Protocol version: the controller (%.32s) speaks %u to %u, this program %u to %u",
            challenge->release ? challenge->release : "release unknown", min, max, WIRE_VERSION_MIN,
            WIRE_VERSION);
    *ret_version = (uint16_t)speak;
    return 0;
}

/* Fill in the proof.  *ret_free holds memory that proof points to, when any. */
static int prove(Pst__Hello *hello, const struct client_target *target,
                 const struct auth_keys *keys, const uint8_t *nonce, uint8_t mac[AUTH_MAC_SIZE],
                 char **ret_free, struct err *err)
{
    const char *kid;
    int r;

    switch (hello->method) {
    case PST__AUTH_METHOD__AUTH_KEY:
        r = auth_hello_sign(keys, nonce, hello->uid, hello->gid, target->cluster, mac, &kid);
        if (r < 0)
            return err_set(err, r, "Invalid authentication credential: cannot sign: %s",
                           r == -ENOSYS ? "libcrypto.so.3 is not installed" : strerror(-r));
        hello->key_id = (char *)kid; /* only read */
        hello->proof.data = mac;
        hello->proof.len = AUTH_MAC_SIZE;
        break;
    case PST__AUTH_METHOD__AUTH_JWT:
        hello->proof.data = (uint8_t *)target->jwt; /* only read */
        hello->proof.len = strlen(target->jwt);
        break;
    case PST__AUTH_METHOD__AUTH_MUNGE:
        r = auth_munge_encode(target->munge_socket, nonce, AUTH_NONCE_SIZE, ret_free, err);
        if (r < 0)
            return r;
        hello->proof.data = (uint8_t *)*ret_free;
        hello->proof.len = strlen(*ret_free);
        break;
    default:
        return 0; /* the kernel vouches */
    }
    hello->has_proof = true;
    return 0;
}

int hello_pack(const struct client_target *target, unsigned method, const struct auth_keys *keys,
               const uint8_t *nonce, uint16_t version, uint8_t **ret_buf, size_t *ret_len,
               struct err *err)
{
    Pst__Hello hello = PST__HELLO__INIT;
    uint8_t mac[AUTH_MAC_SIZE];
    char host[65] = "", program[PROGRAM_MAX + 1] = "";
    _cleanup_free_ char *credential = NULL;
    int r;

    if (gethostname(host, sizeof(host) - 1) == 0)
        host[strcspn(host, ".")] = '\0';
    if (target->program)
        (void)snprintf(program, sizeof(program), "%s", target->program); /* cut is fine */
    hello.has_version = hello.has_method = hello.has_uid = hello.has_gid = hello.has_pid = true;
    hello.version = version;
    hello.method = (Pst__AuthMethod)method;
    hello.uid = geteuid();
    hello.gid = getegid();
    hello.pid = (uint32_t)getpid();
    hello.host = host;
    hello.program = program;
    hello.release = (char *)SLURM_RELEASE; /* only read */
    hello.cluster = (char *)target->cluster;
    r = prove(&hello, target, keys, nonce, mac, &credential, err);
    if (r < 0)
        return r;
    r = frame_pack(OP_HELLO, 0, 0, 0, &hello.base, ret_buf, ret_len);
    if (r < 0)
        return err_set(err, r, "Invalid authentication credential: token or credential too long");
    frame_set_version(*ret_buf, version);
    return 0;
}

bool hello_server_trusted(int fd, uid_t slurm_uid)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return false;
    return cred.uid == 0 || cred.uid == slurm_uid || cred.uid == geteuid();
}

unsigned wire_local_name(uint16_t port, struct sockaddr_un *ret_sa)
{
    int n;

    *ret_sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
    n = snprintf(ret_sa->sun_path + 1, sizeof(ret_sa->sun_path) - 1, "penstock/ctld/%u", port);
    return (unsigned)(offsetof(struct sockaddr_un, sun_path) + 1) + (unsigned)n;
}
