/* json_out.c - --json= and --yaml=, the trailer, exit codes; see json_out.h. */
#include "cli/format/json_out.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/query/out_job.h"
#include "cli/query/out_users.h"
#include "version.h"

#define NEWEST_VERSION 45u

void json_exit_code(struct json *js, const char *key, uint32_t status)
{
    bool signaled = WIFSIGNALED((int)status);
    uint32_t code = WIFEXITED((int)status) ? (uint32_t)WEXITSTATUS((int)status) : 0;

    json_map(js, key);
    json_one(js, "status", signaled ? "SIGNALED" : code ? "ERROR" : "SUCCESS");
    json_set(js, "return_code", code);
    json_map(js, "signal");
    if (signaled)
        json_set(js, "id", (uint64_t)WTERMSIG((int)status));
    else
        json_unset(js, "id");
    if (js->plain_null && !signaled)
        json_nil(js, "name");
    else
        json_str(js, "name", signaled ? sigabbrev_np(WTERMSIG((int)status)) : "");
    json_map_end(js);
    json_map_end(js);
}

/* ---- --json=... ------------------------------------------------------------------------------ */

#define OLDEST_VERSION 42u

static const char *const versions[] = { "v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45" };

int json_option_parse(struct json_option *opt, bool yaml, const char *arg)
{
    const char *given = arg;
    size_t len;

    *opt = (struct json_option){ .wanted = true, .yaml = yaml };
    if (!arg)
        return 0;
    if (strcmp(arg, "list") == 0) {
        opt->list = true;
        return 0;
    }
    opt->complex = strcasestr(arg, "+complex") != NULL;
    if (strncmp(arg, "data_parser/", strlen("data_parser/")) == 0)
        arg += strlen("data_parser/");
    len = strcspn(arg, "+");
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
        if (len == strlen(versions[i]) && memcmp(arg, versions[i], len) == 0) {
            opt->version = OLDEST_VERSION + (unsigned)i;
            return 0;
        }
    if (!len)
        return 0;
    opt->bad = given;
    return -EINVAL;
}

int json_take_json(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)err;
    (void)json_option_parse(at, false, arg); /* json_option_done() tells */
    return 0;
}

int json_take_yaml(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)err;
    (void)json_option_parse(at, true, arg);
    return 0;
}

void json_begin_option(struct json *js, struct strbuf *out, const struct json_option *opt)
{
    const char *style = getenv(opt->yaml ? "SLURM_YAML" : "SLURM_JSON");
    bool dense = style && strcasecmp(style, "compact") == 0;

    /* JSON in one line is YAML, too, and the shortest. */
    json_begin(js, out, dense ? JSON_DENSE : opt->yaml ? JSON_YAML : JSON_PRETTY);
    js->plain_null = opt->complex;
    js->version = opt->version;
}

int json_option_done(const struct json_option *opt)
{
    if (opt->bad) {
        cli_error("load_plugins: unable to find plugin: data_parser/%s", opt->bad);
        cli_error("data_parser_g_new: failure loading plugins: Plugin has invalid format or unable "
                  "to be loaded");
        cli_error("application/%s output not supported by %s", opt->yaml ? "x-yaml" : "json",
                  "data_parser/v0.0.45");
        return 1;
    }
    if (!opt->wanted || !opt->list)
        return -1;
    (void)fprintf(stderr, "Possible data_parser plugins:\n");
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
        (void)printf("data_parser/%s\n", versions[i]);
    return 0;
}

void json_meta(struct json *js, int argc, char **argv, const char *cluster, const char *storage)
{
    char major[16] = "", minor[16] = "", micro[16] = "", parser[32];
    const char *name;

    (void)sscanf(SLURM_RELEASE, "%15[0-9].%15[0-9].%15[0-9]", major, minor, micro);
    json_map(js, "meta");
    json_map(js, "plugin");
    json_str(js, "type", "");
    json_str(js, "name", "");
    (void)snprintf(parser, sizeof(parser), "data_parser/v0.0.%u",
                   js->version ? js->version : NEWEST_VERSION); /* fits */
    json_str(js, "data_parser", parser);
    json_str(js, "accounting_storage", storage);
    json_map_end(js);
    json_map(js, "client");
    json_str(js, "source", "");
    json_str(js, "user", user_name_of(getuid()));
    json_str(js, "group", group_name_of(getgid()));
    json_map_end(js);
    json_list(js, "command");
    for (int i = 0; i < argc; i++) {
        name = i == 0 && strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[i];
        json_str(js, NULL, name);
    }
    json_list_end(js);
    json_map(js, "slurm");
    json_map(js, "version");
    json_str(js, "major", major);
    json_str(js, "micro", micro);
    json_str(js, "minor", minor);
    json_map_end(js);
    json_str(js, "release", SLURM_RELEASE);
    json_str(js, "cluster", cluster);
    json_map_end(js);
    json_map_end(js);
    json_list(js, "errors");
    json_list_end(js);
    json_list(js, "warnings");
    if (js->warning) {
        json_map(js, NULL);
        json_str(js, "description", js->warning);
        json_str(js, "source", "");
        json_map_end(js);
    }
    json_list_end(js);
}
