/* nssconf.c - see nssconf.h */
#include "nss/nssconf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEFAULT_SPOOL "/var/spool/slurmd"

static bool copy_text(const char *from, char *to, size_t size)
{
    size_t len = strlen(from);

    if (len >= size)
        return false;
    memcpy(to, from, len + 1);
    return true;
}

static bool expand_spool(const char *from, const char *host, struct nss_conf *c)
{
    char *to = c->spool;
    const char *last = c->spool + sizeof(c->spool);

    for (; *from; from++) {
        const char *name = *from != '%'     ? NULL
                           : from[1] == 'n' ? c->node
                           : from[1] == 'h' ? host
                                            : NULL;

        if (name) {
            if (!copy_text(name, to, (size_t)(last - to)))
                return false;
            to += strlen(to);
            from++;
        } else if (to + 1 < last) {
            *to++ = *from;
        } else {
            return false;
        }
    }
    *to = '\0';
    return c->spool[0] == '/';
}

/* Without blanks at both ends. */
static char *trim_text(char *text)
{
    size_t len;

    text += strspn(text, " \t\r");
    len = strlen(text);
    while (len && strchr(" \t\r", text[len - 1]))
        text[--len] = '\0';
    return text;
}

bool nssconf_parse(char *text, size_t len, const char *host, struct nss_conf *ret)
{
    const char *spool = DEFAULT_SPOOL;
    struct nss_conf c;

    text[len] = '\0';
    if (strlen(text) != len || !copy_text(host, c.node, sizeof(c.node)))
        return false;
    for (char *line = text, *next; line; line = next) {
        char *value;

        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "#")] = '\0';
        line = trim_text(line);
        if (!*line)
            continue;
        value = strchr(line, '=');
        if (!value)
            return false;
        *value++ = '\0';
        line = trim_text(line);
        value = trim_text(value);
        if (strcasecmp(line, "SlurmdSpoolDir") == 0)
            spool = value;
        else if (strcasecmp(line, "NodeName") != 0 || !*value ||
                 !copy_text(value, c.node, sizeof(c.node)))
            return false;
    }
    if (strchr(c.node, '/') || !expand_spool(spool, host, &c))
        return false;
    *ret = c;
    return true;
}

/* Whole, or not at all: a file that is too long is none of ours. */
static ssize_t read_whole(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t len = 0;
    ssize_t n = 0;

    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    while (len < size && (n = read(fd, buf + len, size - len)) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        len += n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
    return n < 0 || len == size ? -1 : (ssize_t)len;
}

bool nssconf_read(const char *path, struct nss_conf *ret)
{
    char text[NSSCONF_MAX + 2], host[256] = "";
    ssize_t len = read_whole(path, text, NSSCONF_MAX + 1);

    if (len < 0 || gethostname(host, sizeof(host) - 1) < 0)
        return false;
    host[strcspn(host, ".")] = '\0';
    return nssconf_parse(text, (size_t)len, host, ret);
}
