/* nsstext.c - see nsstext.h
 *
 * The whole text is checked before anything of it counts: nsstext_parse() writes a 0 behind every
 * field, and nsstext_group() only steps over fields that were looked at. */
#include "nss/nsstext.h"

#include <string.h>

bool nsstext_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > NSSTEXT_NAME_MAX)
        return false;
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 127 || strchr(":,/", *p))
            return false;
    return true;
}

bool nsstext_number(const char *text, uint32_t *ret)
{
    uint64_t value = 0;

    if (!*text || strlen(text) > 10)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    if (value >= UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* Cut the field that begins at *at off at `end`, and step behind it.  NULL: it does not end so, or
 * has control characters. */
static char *cut_field(char **at, const char *last, char end)
{
    char *begin = *at, *p = begin;

    while (p < last && *p != end) {
        if ((unsigned char)*p < ' ' || *p == 127 || *p == ':')
            return NULL;
        p++;
    }
    if (p == last)
        return NULL;
    *p = '\0';
    *at = p + 1;
    return begin;
}

static bool is_path(const char *text)
{
    return !*text || *text == '/';
}

static bool parse_user(char **at, const char *last, struct nss_user *u)
{
    static const char ends[] = ":::::\n";
    char *field[6];

    for (size_t i = 0; i < 6; i++)
        if (!(field[i] = cut_field(at, last, ends[i])))
            return false;
    u->name = field[0];
    u->gecos = field[3];
    u->home = field[4];
    u->shell = field[5];
    /* nobody shall become root by a name service of jobs */
    return nsstext_name(u->name) && strcmp(u->name, "root") != 0 &&
           nsstext_number(field[1], &u->uid) && u->uid != 0 && nsstext_number(field[2], &u->gid) &&
           is_path(u->home) && is_path(u->shell);
}

bool nsstext_parse(char *text, size_t len, struct nss_user *ret)
{
    const size_t head = sizeof(NSSTEXT_HEAD) - 1;
    const char *last = text + len;
    char *at = text + head;
    struct nss_user u;

    if (len > NSSTEXT_MAX || len < head || memcmp(text, NSSTEXT_HEAD, head) != 0)
        return false;
    text[len] = '\0';
    if (!parse_user(&at, last, &u))
        return false;
    u.groups = at;
    u.end = last;
    while (at < last) {
        const char *name = cut_field(&at, last, ':');
        const char *gid = name ? cut_field(&at, last, '\n') : NULL;
        uint32_t number;

        if (!gid || !nsstext_name(name) || !nsstext_number(gid, &number))
            return false;
    }
    *ret = u;
    return true;
}

bool nsstext_group(const struct nss_user *u, const char **at, struct nss_group *ret)
{
    const char *gid;

    if (*at >= u->end)
        return false;
    ret->name = *at;
    gid = *at + strlen(*at) + 1;
    *at = gid + strlen(gid) + 1;
    return nsstext_number(gid, &ret->gid);
}
