/* pemtext.c - is a text one of PEM?  See pemtext.h. */
#include "wire/tls/pemtext.h"

#include <stdio.h>
#include <string.h>

#define BEGIN "-----BEGIN "
#define END "-----END "
#define DASHES "-----"

/* Is the line at p `head`, words in capitals, and the kind?  "NEW CERTIFICATE REQUEST" and
 * "EC PRIVATE KEY" are of the kinds that their last words name. */
static bool is_border(const char *p, const char *head, const char *kind)
{
    size_t n = strlen(head), k = strlen(kind), len = strcspn(p, "\r\n");

    if (len < n + k + strlen(DASHES) || strncmp(p, head, n) != 0 ||
        strncmp(p + len - strlen(DASHES), DASHES, strlen(DASHES)) != 0)
        return false;
    len -= n + strlen(DASHES);
    p += n;
    return strncmp(p + len - k, kind, k) == 0 && (len == k || p[len - k - 1] == ' ');
}

static bool is_plain(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((*p < ' ' && *p != '\n' && *p != '\r') || *p > '~')
            return false;
    return true;
}

bool pemtext_holds(const char *text, const char *kind)
{
    bool began = false, ended = false;

    if (!is_plain(text))
        return false;
    for (const char *p = text; *p; p += strspn(p, "\r\n")) {
        if (is_border(p, BEGIN, kind))
            began = true;
        else if (began && is_border(p, END, kind))
            ended = true;
        p += strcspn(p, "\r\n");
    }
    return ended;
}
