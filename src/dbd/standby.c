/* standby.c - which slurmdbd works, this one or the other, and on which database server
 *
 * DbdHost and DbdBackupHost run a daemon each.  The second stands by, with its doors closed, until
 * the first has left the database, and closes them again when the first is back: its peers come to
 * the first then, as they try the hosts in that order.  A store tells when its records were brought
 * by another meanwhile (acct_commit), so that one that stood still for a while does no harm either.
 */
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "acct/turn.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "dbd/dbd.h"

#define HOST_MAX 256
#define TURNS_SURE 3 /* in a row */

/* ---- the first or the second ----------------------------------------------------------------- */

static bool same_name(const char *host, const char *ours)
{
    size_t len = strcspn(host, "."), our_len = strcspn(ours, ".");

    return strcasecmp(host, ours) == 0 ||
           (len == our_len && len && (!host[len] || !ours[our_len]) &&
            strncasecmp(host, ours, len) == 0);
}

/* Is an address of the host one of this machine's?  It can be bound then. */
static bool has_address_here(const char *host)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
    struct addrinfo *list = NULL;
    bool here = false;

    if (getaddrinfo(host, NULL, &hints, &list) != 0)
        return false;
    for (const struct addrinfo *a = list; a && !here; a = a->ai_next) {
        _cleanup_close_ int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        here = fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0;
    }
    freeaddrinfo(list);
    return here;
}

static int find_role(struct dbd *d, struct err *err)
{
    const char *first = conf_dbd_str(d->conf, CONF_DBD_DBD_HOST);
    const char *second = conf_dbd_str(d->conf, CONF_DBD_DBD_BACKUP_HOST);
    const char *addr = conf_dbd_str(d->conf, CONF_DBD_DBD_ADDR);
    char ours[HOST_MAX] = "";

    d->second = false;
    if (!second)
        return 0;
    if (!first)
        return err_set(err, -EINVAL, "DbdBackupHost=%.64s needs DbdHost", second);
    (void)gethostname(ours, sizeof(ours) - 1); /* empty then: no host's name */
    if (addr && (strcmp(addr, first) == 0 || strcmp(addr, second) == 0))
        d->second = strcmp(addr, second) == 0;
    else if (same_name(first, ours) || same_name(second, ours))
        d->second = !same_name(first, ours);
    else if (has_address_here(first) || has_address_here(second))
        d->second = !has_address_here(first);
    else
        return err_set(err, -EINVAL,
                       "this host (%.64s) is neither DbdHost=%.64s nor DbdBackupHost=%.64s", ours,
                       first, second);
    return 0;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* At the database's server as it is found now. */
static int take_part(struct dbd *d)
{
    struct turn *turn;
    int r = turn_new(d->location, !d->second, &turn);

    if (r < 0)
        return r;
    (void)turn_free(d->turn); /* always NULL */
    d->turn = turn;
    return 0;
}

int standby_begin(struct dbd *d, struct err *err)
{
    bool reached;
    int r = find_role(d, err), turn;

    if (r == 0)
        r = dbd_locate(d, &reached, err);
    if (r < 0)
        return err->text[0] ? r : err_set(err, r, "cannot start: %s", strerrordesc_np(-r));
    err->text[0] = '\0'; /* a server that is away is waited for */
    if (!conf_dbd_str(d->conf, CONF_DBD_DBD_BACKUP_HOST) &&
        !conf_dbd_str(d->conf, CONF_DBD_STORAGE_BACKUP_HOST))
        return dbd_work(d, err);
    r = take_part(d);
    if (r < 0)
        return err_set(err, r, "cannot start: %s", strerrordesc_np(-r));
    turn = turn_ask(d->turn, err);
    if (turn < 0) {
        log_error("%s: trying again", err->text);
        d->failing = true;
        turn = !conf_dbd_str(d->conf, CONF_DBD_DBD_BACKUP_HOST); /* else the other may work */
    }
    err->text[0] = '\0';
    if (turn > 0)
        return dbd_work(d, err);
    log_info("standing by");
    return 0;
}

/* It is our turn, and was so the last times: the other has noticed by now, even one whose lock was
 * lost. */
static void take_over(struct dbd *d)
{
    struct err err = { .text = "" };

    if (conf_dbd_str(d->conf, CONF_DBD_DBD_BACKUP_HOST)) {
        if (++d->asked < TURNS_SURE)
            return;
        log_info("the other slurmdbd is away: taking over");
    }
    if (dbd_work(d, &err) == 0)
        return;
    log_error("cannot work: %s: trying again", err.text);
    dbd_rest(d);
    d->asked = 0;
}

static void give_back(struct dbd *d)
{
    log_info("the other slurmdbd is there: standing by");
    dbd_rest(d);
    turn_yield(d->turn);
}

/* The server is away: perhaps the other one is there. */
static void change_server(struct dbd *d)
{
    _cleanup_free_ char *old = strdup(d->location);
    struct err err = { .text = "" };
    bool reached;

    if (!conf_dbd_str(d->conf, CONF_DBD_STORAGE_BACKUP_HOST) || !old ||
        dbd_locate(d, &reached, &err) < 0 || !reached || strcmp(old, d->location) == 0)
        return; /* looked for again */
    log_info("the database is at the other of StorageHost and StorageBackupHost now");
    dbd_rest(d);
    (void)take_part(d); /* without memory the old one is asked again */
}

void standby_tick(struct dbd *d)
{
    struct err err = { .text = "" };
    int turn = turn_ask(d->turn, &err);

    if (turn < 0) {
        if (!d->failing)
            log_error("%s: trying again", err.text);
        change_server(d);
    } else if (d->failing) {
        log_info("the database answers again");
    }
    d->failing = turn < 0;
    if (turn <= 0 || d->working)
        d->asked = 0;
    if (turn > 0 && !d->working)
        take_over(d);
    else if (turn == 0 && d->working)
        give_back(d);
}
