/* conf_power.c - see conf_power.h */
#include "conf/cloud/conf_power.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_priv.h"

struct conf_power {
    const char *name;
    const char **words; /* path and arguments */
    size_t nwords;
    bool at_node;
};

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct conf_power *find_action(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->npowers; i++)
        if (strcmp(c->powers[i].name, name) == 0)
            return &c->powers[i];
    return NULL;
}

/* "path arg arg", in pieces. */
static int split_words(struct conf *c, const char *text, struct conf_power *p)
{
    size_t cap = 0;

    for (const char *at = text + strspn(text, " \t"); *at; at += strspn(at, " \t")) {
        size_t len = strcspn(at, " \t");

        if (conf_grow(&p->words, &cap, p->nwords, sizeof(*p->words)) < 0)
            return -ENOMEM;
        p->words[p->nwords] = conf_pool_strndup(&c->pool, at, len);
        if (!p->words[p->nwords])
            return -ENOMEM;
        p->nwords++;
        at += len;
    }
    return 0;
}

static bool is_name(const char *name)
{
    return name[0] && name[0] != '-' && strlen(name) < CONF_POWER_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
               strlen(name);
}

/* Why the line cannot stand; NULL: it can. */
static const char *line_mistake(const struct conf *c, const struct conf_val *v)
{
    const char *program = v[WK_PROGRAM].set ? v[WK_PROGRAM].text : "";

    if (!is_name(v[WK_POWER_ACTION].text))
        return "the name may hold letters, digits, '_', '-' and '.'";
    if (find_action(c, v[WK_POWER_ACTION].text))
        return "there is one of that name already";
    if (!program[strspn(program, " \t")])
        return "Program is missing";
    return program[strspn(program, " \t")] != '/' ? "Program is not an absolute path" : NULL;
}

int conf_power_line(struct conf_loader *l, const struct conf_row *row)
{
    const struct conf_val *v = row->vals;
    struct conf *c = l->c;
    const char *mistake;
    struct conf_power *p;

    conf_row_audit(l, CONF_TBL_POWER, v);
    if (!v[WK_POWER_ACTION].set)
        return 0;
    mistake = c->npowers == CONF_POWER_MAX ? "there are too many lines" : line_mistake(c, v);
    if (mistake) {
        conf_error(l, row->file, row->line, "PowerAction=%.64s: %s", v[WK_POWER_ACTION].text,
                   mistake);
        return 0;
    }
    if (conf_grow(&c->powers, &c->powers_cap, c->npowers, sizeof(*c->powers)) < 0)
        return -ENOMEM;
    p = &c->powers[c->npowers++];
    *p = (struct conf_power){ .name = conf_pool_strdup(&c->pool, v[WK_POWER_ACTION].text) };
    p->at_node =
        strcasecmp(conf_val_text(CONF_TBL_POWER, WK_LOCATION, &v[WK_LOCATION]), "slurmd") == 0;
    return p->name ? split_words(c, v[WK_PROGRAM].text, p) : -ENOMEM;
}

void conf_powers_free(struct conf *c)
{
    for (size_t i = 0; i < c->npowers; i++)
        free(c->powers[i].words);
    free(c->powers);
}

/* ---- keys ------------------------------------------------------------------------------------ */

void conf_power_check(struct conf_loader *l)
{
    static const struct {
        enum conf_key key;
        bool here; /* slurmctld alone can run it: the nodes are not there */
    } keys[] = {
        { CONF_RESUME_PROGRAM, true },
        { CONF_RESUME_FAIL_PROGRAM, true },
        { CONF_SUSPEND_PROGRAM, false },
        { CONF_REBOOT_PROGRAM, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct conf_val *v = &l->c->vals[keys[i].key];
        const char *name = conf_tables[CONF_TBL_KEY].rows[keys[i].key].name;
        const struct conf_power *p = v->set ? find_action(l->c, v->text) : NULL;

        if (p && p->at_node && keys[i].here)
            conf_error(l, v->file, v->line,
                       "%s=%.64s: this PowerAction has Location=slurmd, and slurmctld has to run "
                       "it",
                       name, v->text);
        else if (v->set && v->text[0] && v->text[0] != '/' && !p)
            conf_warn(l, v->file, v->line,
                      "%s=%.64s is neither an absolute path nor the name of a PowerAction", name,
                      v->text);
    }
}

bool conf_power_program(const struct conf *c, enum conf_key key, const char *action,
                        struct power_program *ret)
{
    bool named = action && *action;
    const char *text = named ? action : conf_str(c, key);
    const struct conf_power *p = text ? find_action(c, text) : NULL;

    if (p)
        *ret = (struct power_program){ .action = p->name,
                                       .at_node = p->at_node,
                                       .path = p->words[0],
                                       .args = p->words + 1,
                                       .nargs = p->nwords - 1 };
    else if (!named && text && *text)
        *ret = (struct power_program){ .path = text };
    else
        return false;
    return true;
}
