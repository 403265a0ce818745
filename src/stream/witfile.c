/* witfile.c - see witfile.h.
 *
 * 0 magic, 4 version of the format, 8 record's version, 16 term, 20 members, 24 has a lease, 32
 * cluster, 96 holder, 168 members, 744 lease, 1272 xxh3 of the bytes before.  A member is 64 bytes
 * of host and its id. */
#include "stream/witfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/readfile.h"
#include "journal/lebytes.h"

#define MAGIC 0x54575350u /* "PSWT" */
#define FORMAT 1u
#define AT_CLUSTER 32u
#define CLUSTER_BYTES 64u
#define AT_HOLDER 96u
#define MEMBER_BYTES 72u
#define AT_MEMBERS (AT_HOLDER + MEMBER_BYTES)
#define AT_LEASE (AT_MEMBERS + PACT_SET_MAX * MEMBER_BYTES)
#define AT_HASH (WITFILE_BYTES - 8)

_Static_assert(AT_LEASE + TERM_BYTES <= AT_HASH, "it fits");
_Static_assert(PACT_HOST_BYTES + 8 == MEMBER_BYTES, "a member is a host and an id");

static void put_member(uint8_t *out, const struct pact_member *m)
{
    memcpy(out, m->host, strnlen(m->host, PACT_HOST_BYTES - 1));
    put_u64(out + PACT_HOST_BYTES, m->id);
}

static bool get_member(const uint8_t *in, struct pact_member *m)
{
    memset(m, 0, sizeof(*m));
    memcpy(m->host, in, PACT_HOST_BYTES);
    m->id = get_u64(in + PACT_HOST_BYTES);
    return memchr(m->host, 0, PACT_HOST_BYTES) != NULL;
}

void witfile_encode(const char *cluster, const struct witness_state *s,
                    uint8_t out[static WITFILE_BYTES])
{
    const struct pact_record *r = &s->record;

    memset(out, 0, WITFILE_BYTES);
    put_u32(out, MAGIC);
    put_u32(out + 4, FORMAT);
    put_u64(out + 8, r->version);
    put_u32(out + 16, r->term);
    put_u32(out + 20, r->in_sync.n);
    put_u32(out + 24, s->has_lease);
    memcpy(out + AT_CLUSTER, cluster, strnlen(cluster, CLUSTER_BYTES - 1));
    put_member(out + AT_HOLDER, &r->holder);
    for (uint32_t i = 0; i < r->in_sync.n; i++)
        put_member(out + AT_MEMBERS + (size_t)i * MEMBER_BYTES, &r->in_sync.v[i]);
    if (s->has_lease)
        memcpy(out + AT_LEASE, s->lease, TERM_BYTES);
    put_u64(out + AT_HASH, XXH3_64bits(out, AT_HASH));
}

int witfile_decode(const uint8_t in[static WITFILE_BYTES], const char *cluster,
                   struct witness_state *ret)
{
    struct witness_state s = { .has_lease = get_u32(in + 24) != 0 };
    struct pact_record *r = &s.record;
    char ours[CLUSTER_BYTES] = "";
    bool sound;

    if (get_u32(in) != MAGIC || get_u64(in + AT_HASH) != XXH3_64bits(in, AT_HASH))
        return -EBADMSG;
    if (get_u32(in + 4) != FORMAT)
        return -EPROTONOSUPPORT;
    memcpy(ours, cluster, strnlen(cluster, CLUSTER_BYTES - 1));
    if (memcmp(ours, in + AT_CLUSTER, CLUSTER_BYTES) != 0)
        return -EXDEV;
    r->version = get_u64(in + 8);
    r->term = get_u32(in + 16);
    r->in_sync.n = get_u32(in + 20);
    sound = r->version && r->in_sync.n && r->in_sync.n <= PACT_SET_MAX &&
            get_member(in + AT_HOLDER, &r->holder);
    for (uint32_t i = 0; sound && i < r->in_sync.n; i++)
        sound = get_member(in + AT_MEMBERS + (size_t)i * MEMBER_BYTES, &r->in_sync.v[i]) &&
                r->in_sync.v[i].host[0];
    if (!sound || (r->term && !r->holder.host[0]))
        return -EBADMSG;
    memcpy(s.lease, in + AT_LEASE, TERM_BYTES);
    *ret = s;
    return 0;
}

int witfile_load(const char *dir, const char *cluster, struct witness_state *ret, struct err *err)
{
    _cleanup_free_ char *path = NULL, *bytes = NULL;
    size_t n;
    int r = asprintf(&path, "%s/" WITFILE_NAME, dir) < 0 ? -ENOMEM : 0;

    if (r < 0) {
        path = NULL;
        return err_nomem(err);
    }
    r = readfile(path, WITFILE_BYTES, &bytes, &n);
    if (r == 0)
        r = n == WITFILE_BYTES ? witfile_decode((const uint8_t *)bytes, cluster, ret) : -EBADMSG;
    if (r == -EXDEV)
        return err_set(err, r, "%s is the record of another cluster than %s", path, cluster);
    if (r == -EBADMSG)
        return err_set(err, r, "%s is damaged", path);
    return r < 0 ? err_set(err, r, "%s: %s", path, strerrordesc_np(-r)) : 0;
}

static int write_file(int dir_fd, const uint8_t bytes[static WITFILE_BYTES])
{
    _cleanup_close_ int fd =
        openat(dir_fd, WITFILE_NAME ".tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = pwrite(fd, bytes, WITFILE_BYTES, 0);
    if (n != (ssize_t)WITFILE_BYTES)
        return n < 0 ? -errno : -ENOSPC;
    if (fdatasync(fd) < 0 || renameat(dir_fd, WITFILE_NAME ".tmp", dir_fd, WITFILE_NAME) < 0 ||
        fsync(dir_fd) < 0)
        return -errno;
    return 0;
}

int witfile_store(const char *dir, const char *cluster, const struct witness_state *s,
                  struct err *err)
{
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint8_t bytes[WITFILE_BYTES];
    int r = fd < 0 ? -errno : 0;

    witfile_encode(cluster, s, bytes);
    if (r == 0)
        r = write_file(fd, bytes);
    return r < 0 ? err_set(err, r, "%s/" WITFILE_NAME " cannot be written: %s", dir,
                           strerrordesc_np(-r))
                 : 0;
}
