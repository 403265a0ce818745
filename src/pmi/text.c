/* text.c - see text.h */
#include "pmi/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define PREFIX 6

static long framed_size(const char *data, size_t len)
{
    size_t n = 0;
    bool digits = false;

    if (len < PREFIX)
        return 0;
    for (size_t i = 0; i < PREFIX; i++) {
        if (isdigit((unsigned char)data[i])) {
            n = n * 10 + (size_t)(data[i] - '0');
            digits = true;
        } else if (data[i] != ' ' && !(digits && data[i] == '\0')) {
            return -EBADMSG;
        }
    }
    if (!digits)
        return -EBADMSG;
    return len >= PREFIX + n ? (long)(PREFIX + n) : 0;
}

long pmi_text_whole(const char *data, size_t len, bool framed)
{
    const char *end;

    if (framed)
        return framed_size(data, len);
    end = memchr(data, '\n', len);
    if (!end)
        return len >= PMI_MAX ? -EMSGSIZE : 0;
    return end - data + 1;
}

/* The value at p up to an unpaired `;`, undoubled in place; *ret_next is what follows. */
static int take_value(char *p, char *end, char **ret_next)
{
    char *to = p;

    for (; p < end; p++) {
        if (*p == ';' && (p + 1 == end || p[1] != ';')) {
            *to = '\0';
            *ret_next = p + 1;
            return 0;
        }
        if (*p == ';')
            p++;
        *to++ = *p;
    }
    return -EBADMSG; /* no `;` at its end */
}

static int add_pair(struct pmi_text *t, char *name, char *value)
{
    if (t->n >= PMI_FIELDS_MAX)
        return -E2BIG;
    t->names[t->n] = name;
    t->values[t->n++] = value;
    return 0;
}

static int parse_framed(char *p, char *end, struct pmi_text *t)
{
    int r = 0;

    while (r == 0 && p < end) {
        char *name = p, *eq = memchr(p, '=', (size_t)(end - p)), *value;

        if (!eq || eq == name)
            return -EBADMSG;
        *eq = '\0';
        value = eq + 1;
        r = take_value(value, end, &p);
        if (r == 0)
            r = add_pair(t, name, value);
    }
    return r;
}

static int parse_line(char *p, struct pmi_text *t)
{
    char *save = NULL;
    int r = 0;

    for (char *word = strtok_r(p, " \t\r\n", &save); r == 0 && word;
         word = strtok_r(NULL, " \t\r\n", &save)) {
        char *eq = strchr(word, '=');

        if (eq)
            *eq = '\0';
        r = add_pair(t, word, eq ? eq + 1 : word + strlen(word));
    }
    return r;
}

int pmi_text_parse(char *data, size_t len, bool framed, struct pmi_text *ret)
{
    ret->n = 0;
    if (framed)
        return len < PREFIX || memchr(data + PREFIX, '\0', len - PREFIX)
                   ? -EBADMSG
                   : parse_framed(data + PREFIX, data + len, ret);
    if (len && memchr(data, '\0', len))
        return -EBADMSG;
    data[len] = '\0';
    return parse_line(data, ret);
}

const char *pmi_text_get(const struct pmi_text *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->names[i], name) == 0)
            return t->values[i];
    return NULL;
}

void pmi_text_field(struct strbuf *sb, const char *name, const char *value)
{
    strbuf_addf(sb, "%s=", name);
    for (const char *p = value; *p;) {
        size_t n = strcspn(p, ";");

        strbuf_addn(sb, p, n);
        p += n;
        if (*p == ';') {
            strbuf_addn(sb, ";;", 2);
            p++;
        }
    }
    strbuf_addn(sb, ";", 1);
}
