/* kafkaconf.c - librdkafka's configuration as a file; see kafkaconf.h */
#include "ctld/notify/kafkaconf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

#define LINE_MAX_BYTES 4096

/* Cut the white space off the end. */
static void trim_end(char *text)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t", end[-1]))
        end--;
    *end = '\0';
}

static bool names_servers(const char *key)
{
    static const char *const keys[] = { "bootstrap.servers", "metadata.broker.list",
                                        "test.mock.num.brokers" };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* 1 when the line names servers. */
static int take_line(char *line, kafkaconf_fn *fn, void *ctx, struct err *err)
{
    char *value;
    int r;

    line += strspn(line, " \t");
    if (*line == '#' || !*line)
        return 0;
    value = strchr(line, '=');
    if (!value || value == line)
        return err_set(err, -EINVAL, "key=value is missing in '%.100s'", line);
    *value++ = '\0';
    trim_end(line);
    value += strspn(value, " \t");
    trim_end(value);
    r = fn(ctx, line, value, err);
    return r < 0 ? r : names_servers(line);
}

int kafkaconf_read(FILE *f, const char *name, kafkaconf_fn *fn, void *ctx, struct err *err)
{
    char line[LINE_MAX_BYTES];
    unsigned n = 0;
    bool servers = false;

    while (fgets(line, sizeof(line), f)) {
        int r;

        n++;
        if (!strchr(line, '\n') && !feof(f))
            return err_set(err, -E2BIG, "%.200s:%u: the line is longer than %d bytes", name, n,
                           LINE_MAX_BYTES - 2);
        line[strcspn(line, "\r\n")] = '\0';
        r = take_line(line, fn, ctx, err);
        if (r < 0) {
            err_prefix(err, "%.200s:%u", name, n);
            return r;
        }
        servers = servers || r > 0;
    }
    return servers ? 0 : err_set(err, -EINVAL, "%.200s: bootstrap.servers is missing", name);
}
