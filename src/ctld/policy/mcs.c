/* mcs.c - security labels of jobs; see mcs.h */
#include "ctld/policy/mcs.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "base/pb/pbutil.h"
#include "conf/conf_mcs.h"

#define LABEL_MAX 255u

/* The first group of MCSParameters that is the user's. */
static const char *first_group(const struct conf_mcs *m, const char *groups, size_t *ret_len)
{
    for (const char *p = m->groups; p && *p;) {
        *ret_len = strcspn(p, "|");
        if (wordlist_has_between(groups, ",", p, *ret_len))
            return p;
        p += *ret_len + (p[*ret_len] != '\0');
    }
    return NULL;
}

static bool can_write_label(const char *label)
{
    size_t len = strlen(label);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)label[i] <= ' ' || label[i] == 127)
            return false;
    return len <= LABEL_MAX;
}

/* May a job of r ask for the label it names? */
static bool may_ask(const struct conf_mcs *m, const Pst__JobRecord *r, const char *groups)
{
    const char *label = r->mcs_label;

    switch (m->kind) {
    case MCS_USER:
        return r->user_name && strcmp(label, r->user_name) == 0;
    case MCS_ACCOUNT:
        return r->account && strcasecmp(label, r->account) == 0;
    case MCS_GROUP:
        return wordlist_has_between(m->groups, "|", label, strlen(label)) &&
               wordlist_has_between(groups, ",", label, strlen(label));
    case MCS_LABEL:
        return can_write_label(label);
    case MCS_NONE:
        break;
    }
    return false;
}

/* The label of a job that names none; NULL when it can have none. */
static char *own_label(const struct conf_mcs *m, const Pst__JobRecord *r, const char *groups)
{
    const char *text = m->kind == MCS_USER      ? r->user_name
                       : m->kind == MCS_ACCOUNT ? r->account
                                                : NULL;
    size_t len = text ? strlen(text) : 0;

    if (m->kind == MCS_GROUP)
        text = first_group(m, groups, &len);
    return text ? strndup(text, len) : NULL;
}

int mcs_apply(const struct conf *conf, Pst__JobRecord *r, const char *groups, const char **ret_hint)
{
    struct conf_mcs m = conf_mcs(conf);
    bool alone = r->has_exclusive && r->exclusive == EXCLUSIVE_MCS;

    r->has_mcs_select = r->mcs_select = false;
    if (r->mcs_label && (!*r->mcs_label || (m.kind == MCS_NONE && !can_write_label(r->mcs_label))))
        (void)pb_set_str(&r->mcs_label, NULL); /* cannot fail: it frees */
    if (m.kind == MCS_NONE)
        return 0; /* a word that is shown, and means nothing */
    if (r->mcs_label && !may_ask(&m, r, groups)) {
        *ret_hint = "the label that --mcs-label names is none of this user's";
        return ESLURM_INVALID_MCS_LABEL;
    }
    if (!r->mcs_label && m.kind != MCS_NONE && (m.enforced || alone)) {
        r->mcs_label = own_label(&m, r, groups);
        if (!r->mcs_label) {
            *ret_hint = "the job needs a security label and has none: name one with --mcs-label";
            return ESLURM_INVALID_MCS_LABEL;
        }
    }
    if (r->mcs_label && (m.select == MCS_SELECT || (m.select == MCS_ON_DEMAND && alone)))
        SET(r, mcs_select, true);
    return 0;
}

bool mcs_private(const struct conf *conf)
{
    struct conf_mcs m = conf_mcs(conf);

    return m.kind != MCS_NONE && m.private;
}

static void each_group(const struct conf_mcs *m, const char *groups,
                       void (*fn)(void *ctx, const char *label), void *ctx)
{
    for (const char *p = groups; p && *p;) {
        size_t n = strcspn(p, ",");
        _cleanup_free_ char *name =
            wordlist_has_between(m->groups, "|", p, n) ? strndup(p, n) : NULL;

        if (name)
            fn(ctx, name);
        p += n + (p[n] != '\0');
    }
}

void mcs_each_label(struct ctld *ctld, const char *user, const char *groups,
                    void (*fn)(void *ctx, const char *label), void *ctx)
{
    struct conf_mcs m = conf_mcs(ctld->conf);

    if (m.kind == MCS_USER && user)
        fn(ctx, user);
    if (m.kind == MCS_GROUP)
        each_group(&m, groups, fn, ctx);
    if (m.kind == MCS_ACCOUNT && user)
        for (const struct assoc *a = am_of_user(ctld->cluster->am, user); a; a = a->next_of_user)
            if (a->rec->account)
                fn(ctx, a->rec->account);
}
