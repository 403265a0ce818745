/* ident.c - see ident.h.  Owns nothing; any thread. */
#include "wire/auth/ident.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/people/groups.h"
#include "base/pb/pbunknown.h"
#include "base/safetext.h"

#define ENTRY_BYTES 16384u /* of a user's line */

static bool is_text(const char *text)
{
    return text && strlen(text) <= IDENT_TEXT_MAX && safetext_is_line(text) && !strchr(text, ':');
}

/* A name becomes part of paths, lines and lists. */
static bool is_name(const char *name)
{
    return name && name[0] && name[0] != '-' && name[0] != '.' && strlen(name) <= IDENT_NAME_MAX &&
           safetext_is_line(name) && !strpbrk(name, "/:, \t");
}

static bool is_path(const char *path)
{
    return is_text(path) && (!path[0] || path[0] == '/');
}

const char *ident_fault(const Pst__ClientIdent *id)
{
    if (!is_name(id->name))
        return "no name that a user can have";
    if (!is_text(id->gecos) || !is_path(id->home) || !is_path(id->shell))
        return "a text is missing, too long or not one line";
    return id->n_gids == 0 || id->n_gids > IDENT_GROUPS_MAX ? "no groups, or too many" : NULL;
}

int ident_read(const uint8_t *data, size_t len, Pst__ClientIdent **ret)
{
    Pst__ClientIdent *id =
        len <= IDENT_BYTES_MAX ? pst__client_ident__unpack(NULL, len, data) : NULL;

    if (!id)
        return -EINVAL;
    /* It becomes part of a job's record. The library takes fields with the number 0, whose packed
     * form it refuses: the log could be read no more. */
    (void)pb_drop_unknown(&id->base, NULL, NULL); /* how many matters to nobody */
    if (ident_fault(id)) {
        pst__client_ident__free_unpacked(id, NULL);
        return -EINVAL;
    }
    *ret = id;
    return 0;
}

static int pack_ident(const Pst__ClientIdent *id, uint8_t **ret, size_t *ret_len, struct err *err)
{
    size_t len = pst__client_ident__get_packed_size(id);
    const char *fault = len > IDENT_BYTES_MAX ? "too much" : ident_fault(id);
    uint8_t *buf;

    if (fault)
        return err_set(err, -E2BIG, "user %.64s cannot be told to other hosts: %s", id->name,
                       fault);
    buf = malloc(len);
    if (!buf)
        return err_nomem(err);
    *ret_len = pst__client_ident__pack(id, buf);
    *ret = buf;
    return 0;
}

int ident_make(uid_t uid, gid_t gid, uint8_t **ret, size_t *ret_len, struct err *err)
{
    _cleanup_free_ char *buf = malloc(ENTRY_BYTES);
    _cleanup_free_ gid_t *gids = NULL;
    Pst__ClientIdent id = PST__CLIENT_IDENT__INIT;
    struct passwd pw, *found = NULL;
    int r;

    if (!buf)
        return err_nomem(err);
    if (getpwuid_r(uid, &pw, buf, ENTRY_BYTES, &found) != 0 || !found)
        return err_set(err, -ENOENT, "this host knows no user with the number %u", uid);
    r = groups_of(pw.pw_name, gid, &gids, &id.n_gids, err);
    if (r < 0)
        return r;
    id.name = pw.pw_name;
    id.gecos = pw.pw_gecos ? pw.pw_gecos : (char *)"";
    id.home = pw.pw_dir;
    id.shell = pw.pw_shell;
    id.gids = gids; /* both are numbers of 32 bits */
    return pack_ident(&id, ret, ret_len, err);
}
