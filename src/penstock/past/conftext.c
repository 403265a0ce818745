/* conftext.c - slurm.conf as text; see conftext.h */
#include "penstock/past/conftext.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CONF_BYTES_MAX (64u << 20)

const char *const conftext_place_keys[] = { "SlurmctldHost",
                                            "ControlMachine",
                                            "ControlAddr",
                                            "BackupController",
                                            "BackupAddr",
                                            "SlurmctldAddr",
                                            "SlurmctldPort",
                                            "StateSaveLocation",
                                            "SlurmctldPidFile",
                                            "SlurmctldLogFile",
                                            "SlurmSchedLogFile",
                                            "AccountingStorageType",
                                            "SlurmctldSyslogDebug",
                                            "SlurmctldPrimaryOnProg",
                                            "SlurmctldPrimaryOffProg",
                                            NULL };

static bool begins_with_key(const char *line, const char *const *keys)
{
    while (isspace((unsigned char)*line))
        line++;
    for (; *keys; keys++) {
        size_t n = strlen(*keys);

        if (strncasecmp(line, *keys, n) == 0 && strchr("= \t+", line[n]) && line[n])
            return true;
    }
    return false;
}

static bool goes_on(const char *line, size_t len)
{
    while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        len--;
    return len && line[len - 1] == '\\';
}

int conftext_without(const char *path, const char *const *keys, struct strbuf *text,
                     struct err *err)
{
    _cleanup_free_ char *line = NULL;
    bool leave = false, inside = false;
    FILE *f = fopen(path, "re");
    size_t cap = 0;
    ssize_t n;

    if (!f)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    while ((n = getline(&line, &cap, f)) > 0 && text->len < CONF_BYTES_MAX) {
        if (!inside)
            leave = begins_with_key(line, keys);
        inside = goes_on(line, (size_t)n);
        if (!leave)
            strbuf_addn(text, line, (size_t)n);
    }
    (void)fclose(f); /* was only read */
    if (text->len >= CONF_BYTES_MAX)
        return err_set(err, -EFBIG, "%s: longer than %u bytes", path, CONF_BYTES_MAX);
    return text->failed ? err_nomem(err) : 0;
}

int conftext_write(const char *path, const struct strbuf *text, struct err *err)
{
    FILE *f = text->failed ? NULL : fopen(path, "wex");
    bool good;

    if (!f)
        return err_set(err, -errno, "%s: %s", path, text->failed ? ERR_NOMEM : strerror(errno));
    good = fwrite(strbuf_str(text), 1, text->len, f) == text->len;
    good = fclose(f) == 0 && good;
    return good ? 0 : err_set(err, -EIO, "%s: it cannot be written: %s", path, strerror(errno));
}

int conftext_link_others(const char *path, const char *dir, struct err *err)
{
    _cleanup_free_ char *real = realpath(path, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    struct dirent *e;
    int r = 0;
    DIR *d;

    if (!slash)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    *slash = '\0';
    d = opendir(*real ? real : "/");
    if (!d)
        return err_set(err, -errno, "%s: %s", real, strerror(errno));
    while (r == 0 && (e = readdir(d))) {
        char from[PATH_MAX], to[PATH_MAX];

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            strcmp(e->d_name, slash + 1) == 0)
            continue;
        (void)snprintf(from, sizeof(from), "%s/%s", real, e->d_name);
        (void)snprintf(to, sizeof(to), "%s/%s", dir, e->d_name);
        if (symlink(from, to) < 0 && errno != EEXIST)
            r = err_set(err, -errno, "%s: %s", to, strerror(errno));
    }
    (void)closedir(d);
    return r;
}
