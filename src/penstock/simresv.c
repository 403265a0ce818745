/* simresv.c - reservations made, changed and deleted in a copied cluster; see simchange.h
 *
 * The keys are those of scontrol.  Nodes have to be named: choosing them is the controller's. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/query/resvkeys.h"
#include "model/kept.h"
#include "model/words/resvwords.h"
#include "model/tx.h"
#include "penstock/simchange.h"

/* The words of a comma list: a comma before KEY= or KEY+= ends one. */
static size_t word_len(const char *at)
{
    size_t n = strcspn(at, ",");

    while (at[n]) {
        size_t word = strspn(at + n + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

        if (word && at[n + 1 + word + strspn(at + n + 1 + word, "+-")] == '=')
            break;
        n += 1 + strcspn(at + n + 1, ",");
    }
    return n;
}

static int take_words(struct resvkeys *k, const char *list, int64_t now_us)
{
    struct err err = { .text = "" };

    for (const char *at = list; *at;) {
        size_t n = word_len(at);
        _cleanup_free_ char *word = strndup(at, n);

        if (!word)
            return say_nomem();
        if (resvkeys_take(k, word, now_us, &err) < 0)
            return usage_error("sim: --reservation: %s", err.text);
        at += n;
        at += *at == ',';
    }
    return STATUS_OK;
}

/* Names as the cluster has them; ALL and lists alike. */
static int set_nodes(struct changing *x, const char *text, Pst__ReservationRecord *r)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const char **names = calloc(x->c->nnodes + 1, sizeof(*names));
    bool all = strcasecmp(text, "ALL") == 0;
    char *folded = NULL;
    size_t n = 0;
    int e = names ? 0 : -ENOMEM;

    if (e == 0 && !all && hostlist_parse(text, &hl, NULL) < 0)
        e = -EINVAL;
    for (uint32_t i = 0; e == 0 && all && i < x->c->nnodes; i++)
        if (x->c->nodes[i])
            names[n++] = x->c->nodes[i]->rec->name;
    for (size_t i = 0; e == 0 && !all && i < hostlist_count(hl); i++) {
        const struct node *node = cluster_node_named(x->c, hostlist_nth(hl, i));

        if (!node || n == x->c->nnodes)
            e = -ENOENT;
        else
            names[n++] = node->rec->name;
    }
    if (e == 0)
        e = hostlist_fold_names(names, n, &folded);
    free(names);
    if (e == -ENOMEM)
        return say_nomem();
    if (e < 0)
        return usage_error("sim: --reservation: these are no nodes of the cluster: %s", text);
    free(r->nodes);
    r->nodes = folded;
    SET(r, node_cnt, (uint32_t)n);
    return STATUS_OK;
}

/* The uids of the users listed.  A user that this machine does not know is a mistake. */
static int set_uids(Pst__ReservationRecord *r)
{
    _cleanup_free_ char *copy = strdup(r->users);
    char *save = NULL;
    size_t n = 0;

    free(r->uids);
    r->uids = calloc(strlen(r->users) + 1, sizeof(*r->uids));
    if (!copy || !r->uids)
        return say_nomem();
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        const struct passwd *pw = getpwnam(*w == '-' ? w + 1 : w);
        uint64_t uid;

        if (!pw && parse_u64(*w == '-' ? w + 1 : w, 0, UINT32_MAX - 1, &uid) < 0)
            return usage_error("sim: --reservation: no user %s", w);
        r->uids[n++] = pw ? pw->pw_uid : (uint32_t)uid;
    }
    r->n_uids = n;
    return STATUS_OK;
}

static int set_times(const struct resvkeys *k, bool made, Pst__ReservationRecord *r)
{
    int64_t length = made ? 0 : r->end_us - r->start_us;

    if (made && !k->set.has_start_us)
        return usage_error("sim: --reservation: a new one needs StartTime=");
    if (k->set.has_start_us)
        SET(r, start_us, k->set.start_us);
    if (k->req.has_duration_min)
        length = (int64_t)MIN(k->req.duration_min, 365u * 24 * 60) * 60 * USEC_PER_SEC;
    length += k->req.has_duration_change_min
                  ? (int64_t)k->req.duration_change_min * 60 * USEC_PER_SEC
                  : 0;
    SET(r, end_us, k->set.has_end_us ? k->set.end_us : r->start_us + length);
    return r->end_us > r->start_us
               ? STATUS_OK
               : usage_error(
                     "sim: --reservation: it needs Duration= or an EndTime= behind its start");
}

static int replace_text(char **to, const char *from)
{
    return !from || pb_set_str(to, from) == 0 ? STATUS_OK : say_nomem();
}

static int fill_nodes(struct changing *x, const struct resvkeys *k, bool made,
                      Pst__ReservationRecord *r)
{
    const Pst__ReservationRecord *s = &k->set;
    const Pst__ResvRequest *q = &k->req;
    int e;

    if (s->has_want_cores || s->want_node_cnts || s->want_tres || s->features || s->licenses ||
        s->groups || (q->has_nodes_edit && q->nodes_edit != PST__LIST_EDIT__LIST_SET) ||
        (q->has_users_edit && q->users_edit != PST__LIST_EDIT__LIST_SET) ||
        (q->has_accounts_edit && q->accounts_edit != PST__LIST_EDIT__LIST_SET))
        return usage_error(
            "sim: --reservation: simulated are StartTime, EndTime, Duration, Nodes, Users, "
            "Accounts, QOS, AllowedPartitions, Flags and MaxStartDelay, each set as a whole");
    e = set_times(k, made, r);
    if (e == STATUS_OK && made && !s->nodes)
        e = usage_error("sim: --reservation: a new one needs Nodes=");
    if (e == STATUS_OK && s->nodes)
        e = set_nodes(x, s->nodes, r);
    SET(r, flags,
        ((r->has_flags ? r->flags : 0) | (q->has_flags_set ? q->flags_set : 0)) &
            ~(q->has_flags_clear ? q->flags_clear : 0));
    r->flags |= s->nodes ? RESV_FLAG(SPEC_NODES) : 0;
    if (s->has_max_start_delay_s)
        SET(r, max_start_delay_s, s->max_start_delay_s);
    if (e == STATUS_OK)
        e = replace_text(&r->users, s->users);
    if (e == STATUS_OK)
        e = replace_text(&r->accounts, s->accounts);
    if (e == STATUS_OK)
        e = replace_text(&r->qos, s->qos);
    if (e == STATUS_OK)
        e = replace_text(&r->allowed_partitions, s->allowed_partitions);
    if (e == STATUS_OK && s->users)
        e = set_uids(r);
    if (e == STATUS_OK && made && !r->users && !r->accounts && !r->qos && !r->allowed_partitions)
        e = usage_error("sim: --reservation: a new one needs Users= or Accounts=");
    return e;
}

static uint32_t free_id(const struct changing *x)
{
    uint32_t id = 1;

    while (cluster_resv(x->c, id))
        id++;
    return id + (uint32_t)x->n; /* others may be made by the same command */
}

static int put_reservation(struct changing *x, const char *name, const Pst__ReservationRecord *old,
                           const char *list)
{
    ProtobufCMessage *copy = NULL;
    Pst__ReservationRecord *r;
    struct resvkeys k;
    int e;

    if (old && pb_dup(&old->base, &copy) < 0)
        return say_nomem();
    r = copy ? (Pst__ReservationRecord *)copy : malloc(sizeof(*r));
    if (!r)
        return say_nomem();
    if (!copy) {
        pst__reservation_record__init(r);
        SET(r, resv_id, free_id(x));
        r->name = strdup(name);
    }
    resvkeys_init(&k);
    e = r->name ? take_words(&k, list, x->now_us) : say_nomem();
    if (e == STATUS_OK)
        e = fill_nodes(x, &k, !old, r);
    if (e == STATUS_OK)
        tx_resv_put(x->tx, old ? PST__EVENT_KIND__EV_RESV_UPDATE : PST__EVENT_KIND__EV_RESV_CREATE,
                    r);
    resvkeys_done(&k);
    pst__reservation_record__free_unpacked(r, NULL);
    return e;
}

/* As the last change before this one left it, else as it is; NULL: it is not there. */
static const Pst__ReservationRecord *latest_resv(const struct changing *x, const char *name)
{
    const Pst__ReservationRecord *r = cluster_resv_named(x->c, name, strlen(name));

    for (size_t i = 0; i < x->n; i++)
        for (size_t e = 0; e < x->list[i]->n_events; e++) {
            const Pst__Event *ev = x->list[i]->events[e];

            if (ev->body_case == PST__EVENT__BODY_RESV_PUT &&
                strcasecmp(ev->resv_put->name, name) == 0)
                r = ev->resv_put;
            if (ev->body_case == PST__EVENT__BODY_RESV_REMOVE && r && ev->resv_remove == r->resv_id)
                r = NULL;
        }
    return r;
}

int simresv_change(struct changing *x, const char *text)
{
    const char *colon = strchr(text, ':');
    const Pst__ReservationRecord *old;
    char name[256];

    if (!colon || colon == text || (size_t)(colon - text) >= sizeof(name) || !colon[1])
        return usage_error("sim: --reservation: %s is neither NAME:KEY=VALUE,... nor NAME:delete",
                           text);
    memcpy(name, text, (size_t)(colon - text));
    name[colon - text] = '\0';
    old = latest_resv(x, name);
    if (strcasecmp(colon + 1, "delete") != 0)
        return put_reservation(x, name, old, colon + 1);
    if (!old)
        return usage_error("sim: --reservation: no reservation %s", name);
    tx_resv_remove(x->tx, PST__EVENT_KIND__EV_RESV_DELETE, old->resv_id);
    return STATUS_OK;
}
