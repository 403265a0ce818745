/* pamoptions.c - see pamoptions.h
 *
 * One row an option; values are those of Slurm's module.  A word that is not understood never opens
 * a door: the default stays. */
#include "pam/pamoptions.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>

#include "base/cleanup.h"

struct word {
    const char *text;
    int value;
};

static const struct word no_jobs[] = { { "ignore", PAM_ACT_IGNORE },
                                       { "deny", PAM_ACT_DENY },
                                       { NULL, 0 } };
static const struct word unknown[] = {
    { "newest", PAM_ACT_NEWEST }, { "allow", PAM_ACT_ALLOW }, { "deny", PAM_ACT_DENY }, { NULL, 0 }
};
static const struct word adopt_failure[] = { { "allow", PAM_ACT_ALLOW },
                                             { "deny", PAM_ACT_DENY },
                                             { NULL, 0 } };
static const struct word generic_failure[] = {
    { "ignore", PAM_ACT_IGNORE }, { "allow", PAM_ACT_ALLOW }, { "deny", PAM_ACT_DENY }, { NULL, 0 }
};
static const struct word levels[] = {
    { "quiet", -1 },
    { "fatal", LOG_CRIT },
    { "error", LOG_ERR },
    { "info", LOG_INFO },
    { "verbose", LOG_INFO },
    { "debug", LOG_DEBUG },
    { "debug2", LOG_DEBUG },
    { "debug3", LOG_DEBUG },
    { "debug4", LOG_DEBUG },
    { "debug5", LOG_DEBUG },
    { NULL, 0 },
};
static const struct word truth[] = { { "true", 1 }, { "false", 0 }, { "yes", 1 }, { "no", 0 },
                                     { "1", 1 },    { "0", 0 },     { NULL, 0 } };

enum kind { KIND_ACTION, KIND_LEVEL, KIND_BOOL, KIND_TEXT };

static const struct row {
    const char *name;
    enum kind kind;
    const struct word *words;
    size_t at; /* in struct pam_options */
} rows[] = {
    { "action_no_jobs", KIND_ACTION, no_jobs, offsetof(struct pam_options, no_jobs) },
    { "action_unknown", KIND_ACTION, unknown, offsetof(struct pam_options, unknown) },
    { "action_adopt_failure", KIND_ACTION, adopt_failure,
      offsetof(struct pam_options, adopt_failure) },
    { "action_generic_failure", KIND_ACTION, generic_failure,
      offsetof(struct pam_options, generic_failure) },
    { "disable_x11", KIND_BOOL, truth, offsetof(struct pam_options, disable_x11) },
    { "join_container", KIND_BOOL, truth, offsetof(struct pam_options, join_container) },
    { "log_level", KIND_LEVEL, levels, offsetof(struct pam_options, log_level) },
    { "nodename", KIND_TEXT, NULL, offsetof(struct pam_options, nodename) },
    { "service", KIND_TEXT, NULL, offsetof(struct pam_options, service) },
};

static bool set_option(const struct row *row, const char *value, struct pam_options *o)
{
    char *to = (char *)o + row->at;
    const struct word *w = row->words;

    if (row->kind == KIND_TEXT) {
        memcpy(to, &value, sizeof(value));
        return *value != '\0';
    }
    while (w->text && strcasecmp(w->text, value) != 0)
        w++;
    if (!w->text)
        return false;
    switch (row->kind) {
    case KIND_ACTION:
        *(enum pam_action *)(void *)to = (enum pam_action)w->value;
        break;
    case KIND_BOOL:
        *(bool *)to = w->value != 0;
        break;
    default:
        *(int *)(void *)to = w->value;
        break;
    }
    return true;
}

static bool take_option(const char *arg, struct pam_options *o)
{
    size_t len = strcspn(arg, "=");

    for (size_t i = 0; i < ARRAY_SIZE(rows) && arg[len]; i++)
        if (strlen(rows[i].name) == len && strncasecmp(rows[i].name, arg, len) == 0)
            return set_option(&rows[i], arg + len + 1, o);
    return false;
}

void pam_options_parse(int argc, const char **argv, void (*bad)(void *ctx, const char *arg),
                       void *ctx, struct pam_options *ret)
{
    *ret = (struct pam_options){ .no_jobs = PAM_ACT_DENY,
                                 .unknown = PAM_ACT_NEWEST,
                                 .adopt_failure = PAM_ACT_ALLOW,
                                 .generic_failure = PAM_ACT_IGNORE,
                                 .join_container = true,
                                 .log_level = LOG_INFO,
                                 .service = "sshd" };
    for (int i = 0; i < argc; i++)
        if (!take_option(argv[i], ret))
            bad(ctx, argv[i]);
}
