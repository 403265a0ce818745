/* turn.c - whose turn it is; see turn.h. */
#include "acct/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acct/sql/sql.h"
#include "base/text/owntext.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

enum lock { LOCK_HERE, LOCK_WORK }; /* bytes of the file */
static const char *const lock_names[] = { [LOCK_HERE] = "here", [LOCK_WORK] = "work" };

struct turn {
    char *location;
    bool first;
    struct sql *db; /* a server's connection; NULL: not connected, or SQLite */
    int fd;         /* of SQLite's file of locks; -1 */
};

int turn_new(const char *location, bool first, struct turn **ret)
{
    struct turn *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->first = first;
    t->fd = -1;
    t->location = strdup(location);
    if (!t->location)
        t = turn_free(t);
    *ret = t;
    return t ? 0 : -ENOMEM;
}

static void let_go(struct turn *t)
{
    t->db = sql_close(t->db);
    if (t->fd >= 0)
        (void)close(t->fd); /* the locks go with it */
    t->fd = -1;
}

struct turn *turn_free(struct turn *t)
{
    if (!t)
        return NULL;
    let_go(t);
    wipe_text(&t->location); /* a password may be in it */
    free(t);
    return NULL;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static int open_file(struct turn *t, struct err *err)
{
    _cleanup_free_ char *path = NULL;

    if (asprintf(&path, "%s-turn", t->location) < 0)
        return -ENOMEM;
    t->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return t->fd < 0 ? err_set(err, -errno, "accounting: %s: %s", path, strerror(errno)) : 0;
}

/* 1 when the file's lock is ours now, 0 when it is another's. */
static int lock_file(const struct turn *t, enum lock lock, bool take)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock, .l_len = 1 };

    if (fcntl(t->fd, take ? F_OFD_SETLK : F_OFD_GETLK, &l) < 0)
        return errno == EAGAIN || errno == EACCES ? 0 : -errno;
    return take || l.l_type == F_UNLCK;
}

/* ---- a server -------------------------------------------------------------------------------- */

/* take: 1 when the lock is ours now; else 1 when no connection has it. */
static int lock_server(struct turn *t, enum lock lock, bool take)
{
    int64_t got = 0;
    char text[400];
    int r;

    /* a lock's name is the server's, so the database is in it */
    (void)snprintf(text, sizeof(text),
                   take ? "SELECT IF(IS_USED_LOCK(n)=CONNECTION_ID(), 1, GET_LOCK(n, 0)) FROM"
                          " (SELECT CONCAT('slurmdbd.', MD5(DATABASE()), '.%s') AS n) x"
                        : "SELECT IS_FREE_LOCK(CONCAT('slurmdbd.', MD5(DATABASE()), '.%s'))",
                   lock_names[lock]);
    r = sql_get(t->db, text, 0, &got);
    return r < 0 ? r : got == 1;
}

static int open_server(struct turn *t, struct err *err)
{
    int r = sql_open(t->location, SQL_ASK, &t->db, err);

    return r < 0 ? r : sql_exec(t->db, "SET SESSION wait_timeout=" TEXT(TURN_SILENCE_S));
}

/* ---- both ------------------------------------------------------------------------------------ */

static int take_lock(struct turn *t, enum lock lock, bool take)
{
    return t->fd >= 0 ? lock_file(t, lock, take) : lock_server(t, lock, take);
}

static int ask_database(struct turn *t, struct err *err)
{
    int r = 0;

    if (!t->db && t->fd < 0)
        r = sql_location_engine(t->location) == SQL_SQLITE ? open_file(t, err)
                                                           : open_server(t, err);
    if (r == 0)
        r = take_lock(t, LOCK_HERE, t->first);
    return r <= 0 ? r : take_lock(t, LOCK_WORK, true);
}

int turn_ask(struct turn *t, struct err *err)
{
    int r = ask_database(t, err);

    if (r < 0) {
        if (err && !err->text[0])
            err_set(err, r, "accounting: %s", t->db ? sql_error(t->db) : strerrordesc_np(-r));
        let_go(t);
    }
    return r;
}

void turn_yield(struct turn *t)
{
    struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = LOCK_WORK, .l_len = 1 };

    if (t->fd >= 0)
        (void)fcntl(t->fd, F_OFD_SETLK, &l); /* letting go cannot fail */
    else
        t->db =
            sql_close(t->db); /* one that is lost lets go as well; asked again, it is made anew */
}
