/* sacctmgr_parse.c - the words of a command into conditions and settings, by the rows of
 * sacctmgr_keys.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr_keys.h"

void smgr_print_keys(FILE *f)
{
    for (size_t i = 0; i < smgr_n_keys; i++) {
        size_t first = 0;

        while (strcasecmp(smgr_keys[first].name, smgr_keys[i].name) != 0)
            first++;
        if (first == i && smgr_keys[i].entities)
            fprintf(f, "key\t%s\tshown\n", smgr_keys[i].name);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static Pst__Limits *set_limits(struct smgr_line *l)
{
    Pst__Limits **limits =
        l->entity == SMGR_QOS ? &smgr_set_qos(l)->limits : &smgr_set_assoc(l)->limits;

    if (!*limits) {
        *limits = xmalloc_or_die(sizeof(Pst__Limits));
        pst__limits__init(*limits);
    }
    return *limits;
}

static const char *limit_name(const struct key *k)
{
    return strcmp(k->field, "max_wall_min") == 0 ? "MaxWall" : k->name;
}

static void limit_number(struct smgr_line *l, const struct key *k, const char *value)
{
    const ProtobufCFieldDescriptor *f = smgr_field_of(&pst__limits__descriptor, k->field);
    char *base;
    uint32_t n = 0;
    struct err err = { .text = "" };

    if (k->kind == LIMIT_TIME) {
        if (time_limit_parse(value, &n, &err) < 0) {
            smgr_fail(l->s, " Bad %s time format: %s\n", limit_name(k), l->word);
            l->failed = true;
            if (l->entity != SMGR_QOS)
                smgr_unknown_option(l);
            return;
        }
    } else if (!smgr_number(l, limit_name(k), value, &n)) {
        return;
    }
    base = (char *)set_limits(l);
    *(protobuf_c_boolean *)(base + f->quantifier_offset) = 1;
    *(int32_t *)(base + f->offset) = n > INT32_MAX ? -1 : (int32_t)n;
}

static void limit_tres(struct smgr_line *l, const struct key *k, const char *value)
{
    const ProtobufCFieldDescriptor *f = smgr_field_of(&pst__limits__descriptor, k->field);
    struct err err = { .text = "" };
    char text[600];
    char *base;
    int r;

    if (!*value) {
        l->failed = true;
        l->s->status = CLI_EXIT_FAILED;
        if (l->entity != SMGR_QOS)
            smgr_unknown_option(l);
        return;
    }
    if (k->kind == LIMIT_ONE) {
        (void)snprintf(text, sizeof(text), "%s=%s",
                       k->what == 1   ? "cpu"
                       : k->what == 2 ? "mem"
                                      : "node",
                       value);
        value = text;
    }
    base = (char *)set_limits(l);
    r = smgr_parse_tres(l->s, value, (Pst__TresCount ***)(base + f->offset),
                        (size_t *)(base + f->quantifier_offset), &err);
    if (r == 0)
        return;
    smgr_fail(l->s, "sacctmgr: error: %s\n", err.text);
    l->bad_unit = r == -ERANGE && l->mode == SMGR_MODIFY;
    if (l->bad_unit)
        return;
    l->failed = true;
    if (l->entity != SMGR_QOS)
        smgr_unknown_option(l);
}

/* ---- a word ---------------------------------------------------------------------------------- */

static const struct key *find_key(enum smgr_entity entity, unsigned places, const char *name)
{
    for (size_t i = 0; i < smgr_n_keys;
         i++) /* the whole name goes before the beginning of another */
        if ((smgr_keys[i].entities & entity) && (smgr_keys[i].places & places) &&
            strcasecmp(name, smgr_keys[i].name) == 0)
            return &smgr_keys[i];
    for (size_t i = 0; i < smgr_n_keys; i++)
        if ((smgr_keys[i].entities & entity) && (smgr_keys[i].places & places) &&
            smgr_is(name, smgr_keys[i].name, smgr_keys[i].min))
            return &smgr_keys[i];
    return NULL;
}

static bool may_have_operator(const struct smgr_line *l, const struct key *k)
{
    return k->kind == SPECIAL &&
           (k->what == S_QOS || k->what == S_PREEMPT || k->what == S_FEATURES ||
            k->what == S_FED_CLUSTERS || (k->what == S_FLAGS && l->entity == SMGR_QOS));
}

/* A condition of no name chooses nothing, as one of an unknown name does: a script's variable may
 * be empty. */
static void take_names(char ***list, size_t *n, const char *value, bool in_lower, bool cond)
{
    size_t before = *n;

    smgr_add_words(list, n, value, in_lower);
    if (cond && *n == before && !value[strspn(value, ", ")])
        smgr_add_string(list, n, "", 0);
}

static void take_key(struct smgr_line *l, const struct key *k, unsigned place, char op,
                     const char *value)
{
    bool cond = place == COND;

    l->ignored = false;
    if (op && !may_have_operator(l, k)) {
        smgr_fail(l->s, " Invalid operator '%c=' in %s\n", op, l->word);
        l->failed = true;
        return;
    }
    if (k->kind == WORDS || k->kind == WORDS_LOWER) {
        const ProtobufCFieldDescriptor *f = smgr_field_of(&pst__acct_cond__descriptor, k->field);
        bool of_no_user = !*value && l->entity == SMGR_ASSOC && strcmp(k->field, "users") == 0;
        char *base = (char *)l->where;

        take_names((char ***)(base + f->offset), (size_t *)(base + f->quantifier_offset), value,
                   k->kind == WORDS_LOWER, cond && !of_no_user);
        if (of_no_user)
            l->where->has_no_users = l->where->no_users = 1;
    } else if (k->kind == SPECIAL) {
        smgr_special(l, (enum special)k->what, cond, op, value);
    } else if (k->kind == LIMIT_TRES || k->kind == LIMIT_ONE) {
        limit_tres(l, k, value);
    } else {
        limit_number(l, k, value);
    }
    l->has_where |= !cond && (k->kind == WORDS || k->kind == WORDS_LOWER);
    l->has_where |= cond && !(k->kind == SPECIAL &&
                              (k->what == S_FORMAT || smgr_switches(l, (enum special)k->what)));
    l->has_set |= !cond && !l->ignored && k->kind != WORDS && k->kind != WORDS_LOWER;
}

/* "name+=value" apart; *ret_value NULL = it has none.  The name stays in word. */
static char split_word(char *word, char **ret_value)
{
    char *eq = strchr(word, '=');
    char op = '\0';

    *ret_value = NULL;
    if (!eq)
        return op;
    *ret_value = eq + 1;
    *eq = '\0';
    if (eq > word && (eq[-1] == '+' || eq[-1] == '-')) {
        op = eq[-1];
        eq[-1] = '\0';
    }
    if (**ret_value == '"' || **ret_value == '\'') { /* quotes that the shell left alone */
        size_t len = strlen(*ret_value);

        if (len > 1 && (*ret_value)[len - 1] == **ret_value) {
            (*ret_value)[len - 1] = '\0';
            (*ret_value)++;
        }
    }
    return op;
}

/* A name among what is to be set: a key of names, or a word without a value. */
static bool is_new_name(const struct smgr_line *l, const char *word)
{
    size_t len = strcspn(word, "=");

    if (l->entity != SMGR_ACCOUNT || l->mode != SMGR_MODIFY)
        return false;
    return !word[len] || (len >= 1 && strncasecmp(word, "names", len) == 0) ||
           (len >= 3 && strncasecmp(word, "accounts", len) == 0) ||
           (len >= 4 && strncasecmp(word, "acct", len) == 0);
}

static bool is_new_cluster(const struct smgr_line *l, const char *word)
{
    return (l->entity & (SMGR_ACCOUNT | SMGR_RESOURCE)) && l->mode == SMGR_MODIFY &&
           strncasecmp(word, "cluster", 7) == 0;
}

static void tell_unknown(struct smgr_line *l, const char *word, unsigned place)
{
    const char *what = l->entity & (SMGR_QOS | SMGR_RESOURCE) ? "SLURM_PRINT_VALUE" : "value";

    if (place != COND && l->entity != SMGR_COORD) {
        if (is_new_name(l, word))
            smgr_fail(l->s, " Can't modify the name of an account\n");
        else if (is_new_cluster(l, word))
            smgr_fail(l->s, " Can't modify the cluster of an %s\n",
                      l->entity == SMGR_ACCOUNT ? "account" : "resource");
        else
            smgr_unknown_option(l);
        l->failed = true;
        return;
    }
    smgr_fail(l->s, " Unknown condition: %s\n", word);
    if (!(l->entity & (SMGR_ASSOC | SMGR_EVENT | SMGR_TXN | SMGR_WCKEY)))
        smgr_fail(l->s, " Use keyword 'set' to modify %s\n", what);
    l->failed = true;
}

/* A word alone: a name of the entity, and of TRES a type. */
static void take_bare_word(struct smgr_line *l, const char *word, bool cond)
{
    if (l->entity & (SMGR_ASSOC | SMGR_TXN | SMGR_EVENT)) {
        smgr_special(l, l->entity == SMGR_EVENT ? S_EVENT : S_IDS, true, '\0', word);
        return;
    }
    if (l->entity == SMGR_RESERVATION) {
        tell_unknown(l, word, COND);
        return;
    }
    if (l->entity == SMGR_COORD)
        take_names(&l->where->users, &l->where->n_users, word, true, cond);
    else if (l->entity == SMGR_TRES)
        take_names(&l->where->descriptions, &l->where->n_descriptions, word, false, cond);
    else
        take_names(&l->where->names, &l->where->n_names, word, l->entity != SMGR_WCKEY, cond);
    l->has_where = true;
}

static void one_word(struct smgr_line *l, enum smgr_mode mode, unsigned place, const char *original)
{
    _cleanup_free_ char *word = xstrdup_or_die(original);
    char *value;
    char op = split_word(word, &value);
    unsigned places = mode == SMGR_ADD ? SET | NEW : place;
    const struct key *k = find_key(l->entity, places, word);

    l->word = original;
    if (!value && k && k->kind == SPECIAL && place == COND &&
        smgr_switches(l, (enum special)k->what))
        return;
    if (!value && (place == COND || mode == SMGR_ADD)) {
        take_bare_word(l, original, mode != SMGR_ADD);
    } else if (!k || !value) {
        tell_unknown(l, original, place);
    } else {
        take_key(l, k, mode == SMGR_ADD ? SET : place, op, value);
    }
}

static void line_init(struct smgr *s, enum smgr_entity entity, struct smgr_line *l)
{
    *l = (struct smgr_line){ .s = s, .entity = entity };
    l->where = xmalloc_or_die(sizeof(*l->where));
    pst__acct_cond__init(l->where);
    l->set = xmalloc_or_die(sizeof(*l->set));
    pst__acct_set__init(l->set);
}

/* "fluent@lic1" is a name and a server. */
static void split_servers(struct smgr_line *l)
{
    for (size_t i = 0; l->entity == SMGR_RESOURCE && i < l->where->n_names; i++) {
        char *at = strchr(l->where->names[i], '@');

        if (!at)
            continue;
        *at = '\0';
        smgr_add_string(&l->where->servers, &l->where->n_servers, at + 1, strlen(at + 1));
        smgr_special(l, S_SERVER, false, '\0', at + 1); /* of one that is made */
    }
}

bool smgr_parse(struct smgr *s, enum smgr_entity entity, enum smgr_mode mode, int n, char **words,
                struct smgr_line *ret_line)
{
    struct smgr_line *l = ret_line;
    unsigned place = mode == SMGR_ADD ? SET : COND;

    line_init(s, entity, l);
    l->mode = mode;
    for (int i = 0; i < n && (!l->failed || place == COND); i++) { /* each bad condition is told */
        if (smgr_is(words[i], "where", 5)) {
            place = mode == SMGR_ADD ? SET : COND;
        } else if (smgr_is(words[i], "set", 3)) {
            place = mode == SMGR_LIST ? COND : SET; /* a list has nothing to set */
        } else {
            one_word(l, mode, place, words[i]);
        }
    }
    split_servers(l);
    return !l->failed;
}

void smgr_line_done(struct smgr_line *l)
{
    for (size_t i = 0; i < l->n_formats; i++)
        free(l->formats[i]);
    free(l->formats);
    if (l->where)
        pst__acct_cond__free_unpacked(l->where, NULL);
    if (l->set)
        pst__acct_set__free_unpacked(l->set, NULL);
    *l = (struct smgr_line){ 0 };
}

bool smgr_set_option(struct smgr_line *l, const char *name, const char *value)
{
    const struct key *k = find_key(l->entity, SET, name);
    _cleanup_free_ char *told = xasprintf_or_die("%s=%s", name, value);

    if (!k)
        return false;
    l->word = told ? told : name;
    take_key(l, k, SET, '\0', value);
    l->word = NULL;
    return true;
}
