/* sacctmgr_file.c - lines of dump files into their parts; see sacctmgr_file.h */
#include "cli/sacctmgr/sacctmgr_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static const struct {
    const char *word;
    enum flat_kind kind;
} kinds[] = { { "Cluster", FLAT_CLUSTER }, { "Machine", FLAT_CLUSTER }, { "Parent", FLAT_PARENT },
              { "Account", FLAT_ACCOUNT }, { "Project", FLAT_ACCOUNT }, { "User", FLAT_USER },
              { "QOS", FLAT_QOS } };

/* The end of a piece: the colon outside of quotes, or the end. */
static char *end_of_piece(char *text, struct err *err)
{
    char quote = '\0';

    for (; *text; text++) {
        if (quote && *text == quote)
            quote = '\0';
        else if (!quote && (*text == '\'' || *text == '"'))
            quote = *text;
        else if (!quote && *text == ':')
            return text;
    }
    if (quote)
        err_set(err, -EINVAL, "a quote %c is not closed", quote);
    return quote ? NULL : text;
}

static void unquote_word(char **text)
{
    size_t len = strlen(*text);

    while (len && isspace((unsigned char)(*text)[len - 1]))
        (*text)[--len] = '\0';
    while (isspace((unsigned char)**text))
        (*text)++, len--;
    if (len >= 2 && (**text == '\'' || **text == '"') && (*text)[len - 1] == **text) {
        (*text)[len - 1] = '\0';
        (*text)++;
    }
}

static bool is_tres(const char *name)
{
    return strcasestr(name, "tres") != NULL;
}

/* Does the piece go on with the value before it? */
static bool goes_on(const struct flat_line *l, const char *piece)
{
    const char *eq = strchr(piece, '=');

    if (!l->n)
        return false;
    if (!eq)
        return true;
    return is_tres(l->options[l->n - 1].name) && strcasestr(l->options[l->n - 1].value, "/") &&
           !isupper((unsigned char)*piece);
}

/* The value before a piece reads on in it, and in the colons between them. */
static void join_piece(const struct flat_line *l, char *piece)
{
    const char *value = l->options[l->n - 1].value;

    for (char *p = piece - 1; p >= value && !*p; p--)
        *p = ':';
}

static int add_option(struct flat_line *l, char *piece, struct err *err)
{
    char *eq = strchr(piece, '=');

    if (!eq)
        return err_set(err, -EINVAL, "'%s' is not of the form Option=value", piece);
    if (l->n == FLAT_OPTIONS_MAX)
        return err_set(err, -EINVAL, "more than %u options", FLAT_OPTIONS_MAX);
    *eq = '\0';
    l->options[l->n].name = piece;
    l->options[l->n].value = eq + 1;
    unquote_word(&l->options[l->n].name);
    l->n++;
    return 0;
}

static int parse_options(struct flat_line *l, char *text, struct err *err)
{
    while (*text) {
        char *end = end_of_piece(text, err);
        bool last;
        int r;

        if (!end)
            return -EINVAL;
        last = !*end;
        *end = '\0';
        if (*text && goes_on(l, text)) {
            join_piece(l, text);
        } else if (*text) {
            r = add_option(l, text, err);
            if (r < 0)
                return r;
        }
        text = last ? end : end + 1;
    }
    for (size_t i = 0; i < l->n; i++)
        unquote_word(&l->options[i].value);
    return 0;
}

int flat_parse(char *text, struct flat_line *ret, struct err *err)
{
    char *name, *end;

    ret->kind = FLAT_NOTHING;
    ret->name = NULL;
    ret->n = 0;
    while (isspace((unsigned char)*text))
        text++;
    for (size_t len = strlen(text); len && isspace((unsigned char)text[len - 1]);)
        text[--len] = '\0';
    if (!*text || *text == '#')
        return 0;
    name = strchr(text, '-');
    if (!name)
        return 0; /* no line of anything */
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t len = strlen(kinds[i].word);

        if (strncasecmp(text, kinds[i].word, len) == 0 && (size_t)(name - text) >= len &&
            strspn(text + len, " \t") >= (size_t)(name - text) - len)
            ret->kind = kinds[i].kind;
    }
    if (ret->kind == FLAT_NOTHING)
        return err_set(err, -EINVAL,
                       "a line begins with Cluster, Parent, Account, User or QOS, and a dash");
    name++;
    end = end_of_piece(name, err);
    if (!end)
        return -EINVAL;
    text = *end ? end + 1 : end;
    *end = '\0';
    unquote_word(&name);
    if (!*name)
        return err_set(err, -EINVAL, "the name is missing");
    ret->name = name;
    return parse_options(ret, text, err);
}
