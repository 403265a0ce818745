/* clifilter_defaults.c - ~/.slurm/defaults; see clifilter.h */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/job/clifilter.h"

#define DEFAULTS_MAX_BYTES (64u << 10)

static const struct opt *option_named(const struct jobopts *jo, const char *name)
{
    const struct opt_command *cmd = jobopts_command(jo->cmd);

    for (size_t i = 0; i < cmd->n; i++)
        if (strcmp(cmd->rows[i].name, name) == 0 &&
            (!cmd->rows[i].applies || (cmd->rows[i].applies & cmd->bit)))
            return &cmd->rows[i];
    return NULL;
}

/* Is there such an option for some submitting command? */
static bool known_anywhere(const char *name)
{
    static const enum jobopts_cmd all[] = { JOBOPTS_SBATCH, JOBOPTS_SALLOC, JOBOPTS_SRUN };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (option_named(&(struct jobopts){ .cmd = all[i] }, name))
            return true;
    return false;
}

/* Without blanks at both ends; changes the text. */
static char *trim_blanks(char *text)
{
    size_t n;

    while (isspace((unsigned char)*text))
        text++;
    n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    return text;
}

static bool is_for(const char *word, const char *mine)
{
    return strcmp(word, "*") == 0 || (mine && strcasecmp(word, mine) == 0);
}

static bool is_command(const char *word)
{
    return strcmp(word, "*") == 0 || strcasecmp(word, "sbatch") == 0 ||
           strcasecmp(word, "salloc") == 0 || strcasecmp(word, "srun") == 0;
}

static void take_line(const char *path, unsigned number, char *line, const char *program,
                      const char *cluster, struct jobopts *jo)
{
    char *value = strchr(line, '='), *name = line, *colon;
    const struct opt *opt;
    struct err err = { .text = "" };

    if (value)
        *value++ = '\0';
    while ((colon = strchr(name, ':'))) {
        const char *word;

        *colon = '\0';
        word = trim_blanks(name);
        name = colon + 1;
        if (!is_for(word, is_command(word) ? program : cluster))
            return;
    }
    name = trim_blanks(name);
    opt = option_named(jo, name);
    if (!opt) {
        if (!known_anywhere(name))
            cli_warning("%s:%u: there is no option %.64s", path, number, name);
        return;
    }
    value = value ? trim_blanks(value) : NULL;
    if (opt->arg == OPT_REQ && !(value && *value))
        cli_warning("%s:%u: %s takes a value: %s=VALUE", path, number, name, name);
    else if (jobopts_set(jo, opt, opt->arg == OPT_NONE ? NULL : value, OPT_FROM_DEFAULTS, &err) !=
             0)
        cli_warning("%s:%u: %s", path, number, err.text[0] ? err.text : name);
}

void clifilter_read_defaults(const char *path, char *text, const char *program, const char *cluster,
                             struct jobopts *jo)
{
    unsigned number = 0;
    char *line;

    while ((line = strsep(&text, "\n"))) {
        number++;
        line = trim_blanks(line);
        if (*line && *line != '#')
            take_line(path, number, line, program, cluster, jo);
    }
}

void clifilter_user_defaults(struct cli *c, struct jobopts *jo)
{
    const char *home = getenv("HOME");
    _cleanup_free_ char *path = home ? xasprintf_or_die("%s/.slurm/defaults", home) : NULL;
    _cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    ssize_t n = 0;

    if (fd < 0)
        return;
    text = xmalloc_or_die(DEFAULTS_MAX_BYTES + 1);
    while (len < DEFAULTS_MAX_BYTES && (n = read(fd, text + len, DEFAULTS_MAX_BYTES - len)) > 0)
        len += (size_t)n;
    if (n < 0)
        cli_warning("%s: %s", path, strerror(errno));
    else if (len == DEFAULTS_MAX_BYTES)
        cli_warning("%s: only the first %u KiB are read", path, DEFAULTS_MAX_BYTES >> 10);
    clifilter_read_defaults(path, text, c->program, conf_str(cli_conf(c), CONF_CLUSTER_NAME), jo);
}
