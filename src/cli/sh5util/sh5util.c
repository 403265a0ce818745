/* sh5util.c - profiles of jobs: the files of steps made into one, and series of that as text
 *
 * It asks no daemon.  Files are the user's: root reads them with the rights of the user to whom
 * they belong, for libhdf5 is no match for a file that was made to harm it. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/base/cli.h"
#include "cli/base/opts.h"
#include "cli/base/ownfile.h"
#include "cli/sh5util/sh5csv.h"
#include "cli/sh5util/sh5item.h"
#include "cli/sh5util/sh5merge.h"
#include "h5/h5place.h"

#define LEVEL_SAMPLES "Node:TimeSeries"
#define LEVEL_TOTALS "Node:Totals"

enum mode { MERGE, EXTRACT, ITEM, LIST };

struct sh5util {
    struct cli cli;
    unsigned mode;
    const char *jobs, *input, *output, *dir, *node, *series, *level, *user;
    const char *data; /* an item */
    bool save;
    struct sh5ids ids;
    struct h5_api api;
    struct sh5series which;
};

#define OPT_INTO struct sh5util
static const struct opt rows[] = {
    OPT("data", 'd', OPT_REQ, OPT_TEXT(data), NULL, NULL, "item",
        "the item of --item-extract: --list prints their names"),
    OPT("extract", 'E', OPT_NONE, OPT_CHOICE(mode, EXTRACT), NULL, NULL, NULL,
        "write series of the job's file as comma-separated values"),
    OPT("input", 'i', OPT_REQ, OPT_TEXT(input), NULL, NULL, "path",
        "the job's file; without it job_JOB.h5"),
    OPT("item-extract", 'I', OPT_NONE, OPT_CHOICE(mode, ITEM), NULL, NULL, NULL,
        "write one item of a series, sample by sample, of all nodes beside each other"),
    OPT("jobs", 'j', OPT_REQ, OPT_TEXT(jobs), NULL, NULL, "job[.step],...",
        "this job, or steps of it"),
    OPT("level", 'l', OPT_REQ, OPT_TEXT(level), NULL, NULL, "level",
        "of --extract: Node:TimeSeries for each sample; without it Node:Totals"),
    OPT("list", 'L', OPT_NONE, OPT_CHOICE(mode, LIST), NULL, NULL, NULL,
        "print the items of series of the job's file"),
    OPT("node", 'N', OPT_REQ, OPT_TEXT(node), NULL, NULL, "node", "series of this node alone"),
    OPT("output", 'o', OPT_REQ, OPT_TEXT(output), NULL, NULL, "path",
        "write there; without it job_JOB.h5, extract_JOB.csv with --extract, and "
        "SERIES_ITEM_JOB.csv with --item-extract"),
    OPT("profiledir", 'p', OPT_REQ, OPT_TEXT(dir), NULL, NULL, "directory",
        "where the files of steps are; without it ProfileHDF5Dir"),
    OPT("savefiles", 'S', OPT_NONE, OPT_FLAG(save), NULL, NULL, NULL,
        "keep the files of the steps"),
    OPT("series", 's', OPT_REQ, OPT_TEXT(series), NULL, NULL, "series",
        "Energy, Filesystem, Network, Task or Task_RANK; without it all"),
    OPT("user", 'u', OPT_REQ, OPT_TEXT(user), NULL, NULL, "user",
        "whose job it was, when root asks"),
};

static const struct opt_command command = {
    .name = "sh5util",
    .prefix = "SH5UTIL",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS] -j <job[.step]>",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .help_with_h = true,
};

/* ---- whose files ----------------------------------------------------------------------------- */

/* Root reads as the user.  out_fd: what root has opened for the result, which then is the user's;
 * -1: nothing. */
static void become_user(uid_t uid, gid_t gid, int out_fd)
{
    struct h5head head = { .uid = uid, .gid = gid };
    struct err err = { .text = "" };

    if (geteuid() != 0 || uid == 0)
        return;
    if (out_fd >= 0 && fchown(out_fd, uid, gid) < 0)
        cli_die(CLI_EXIT_FAILED, "the result cannot be given to the user: %s", strerror(errno));
    (void)snprintf(head.user, sizeof(head.user), "user %u", uid);
    if (h5place_become(&head, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
}

static const struct passwd *find_user(const char *name)
{
    const struct passwd *pw = name ? getpwnam(name) : getpwuid(geteuid());

    if (!pw)
        cli_die(CLI_EXIT_FAILED, "%.64s is no user here", name ? name : "the one who asks");
    if (!h5name_user(pw->pw_name))
        cli_die(CLI_EXIT_FAILED, "no folder has the name of user %u", pw->pw_uid);
    return pw;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* A file that is there is replaced when nothing can be lost by it.  The user gets it: so it must be
 * his, or new. */
static int create_output(const char *path, bool replace, uid_t uid)
{
    int fd = ownfile_for(path, replace, uid);

    if (fd == -EPERM)
        cli_die(CLI_EXIT_FAILED, "%s is there already, and is no plain file of user %u", path, uid);
    if (fd == -EEXIST)
        cli_die(CLI_EXIT_FAILED,
                "%s is there already, and its steps' files may be in it alone: "
                "give another with --output",
                path);
    if (fd < 0)
        cli_die(CLI_EXIT_FAILED, "%s: %s", path, strerror(-fd));
    return fd;
}

static noreturn void give_up(const char *path, const struct err *err)
{
    (void)unlink(path); /* half of one */
    cli_die(CLI_EXIT_FAILED, "%s", err->text);
}

/* ---- merge ----------------------------------------------------------------------------------- */

static const char *profile_dir(struct sh5util *s, struct conf **ret_conf)
{
    struct err err = { .text = "" };

    if (s->dir)
        return s->dir;
    if (conf_load(conf_default_path(), CONF_FULL, ret_conf, NULL, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
    if (!conf_gather_hdf5(*ret_conf))
        cli_die(CLI_EXIT_FAILED, "AcctGatherProfileType is not acct_gather_profile/hdf5 here: say "
                                 "with --profiledir where the files are");
    return conf_gather_hdf5(*ret_conf);
}

static int open_folder(const char *dir, const char *user)
{
    _cleanup_close_ int top = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = top < 0 ? -1 : openat(top, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        cli_die(CLI_EXIT_FAILED, "%s%s%s: %s", dir, top < 0 ? "" : "/", top < 0 ? "" : user,
                strerror(errno));
    return fd;
}

static void merge_job(struct sh5util *s)
{
    struct conf *conf = NULL;
    const struct passwd *pw = find_user(s->user);
    const char *dir = profile_dir(s, &conf);
    _cleanup_free_ char *path =
        s->output ? xstrdup_or_die(s->output) : xasprintf_or_die("job_%u.h5", s->ids.job_id);
    _cleanup_close_ int folder = open_folder(dir, pw->pw_name), out = -1;
    struct sh5files files = { 0 };
    struct err err = { .text = "" };
    int r = sh5files_find(folder, &s->ids, &files);

    if (r < 0 || !files.n)
        cli_die(CLI_EXIT_FAILED, "%s/%s: %s", dir, pw->pw_name,
                r < 0 ? strerror(-r) : "there are no profiles of this job or step");
    out = create_output(path, s->save, pw->pw_uid);
    become_user(pw->pw_uid, pw->pw_gid, out);
    if (sh5merge(&s->api, folder, &files, out, &err) < 0)
        give_up(path, &err);
    for (size_t i = 0; !s->save && i < files.n; i++)
        if (unlinkat(folder, files.names[i], 0) < 0)
            cli_error("%s: %s", files.names[i], strerror(errno));
    sh5files_done(&files);
    (void)conf_free(conf);
}

/* ---- series ---------------------------------------------------------------------------------- */

static int open_input(struct sh5util *s, char **ret_path)
{
    char *path = s->input ? xstrdup_or_die(s->input) : xasprintf_or_die("job_%u.h5", s->ids.job_id);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        cli_die(CLI_EXIT_FAILED, "%s: %s", path, strerror(errno));
    *ret_path = path;
    return fd;
}

/* As its owner. */
static h5_id read_input(struct sh5util *s, int fd, const char *path)
{
    char by_fd[40];
    struct stat st;
    h5_id file = -1;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        become_user(st.st_uid, st.st_gid, -1);
        (void)snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
        file = s->api.f_open(by_fd, H5_READ, H5_DEFAULT);
    }
    if (file < 0)
        cli_die(CLI_EXIT_FAILED, "%s is no HDF5 file that can be read", path);
    return file;
}

static void list_items(struct sh5util *s)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int fd = open_input(s, &path);
    struct err err = { .text = "" };
    h5_id file = read_input(s, fd, path);

    if (sh5csv_items(&s->api, file, &s->ids, &s->which, stdout, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "%s: %s", path, err.text);
    (void)s->api.f_close(file);
}

static char *result_path(const struct sh5util *s)
{
    if (s->output)
        return xstrdup_or_die(s->output);
    if (s->mode == ITEM)
        return xasprintf_or_die("%s_%s_%u.csv", s->series, s->data, s->ids.job_id);
    return xasprintf_or_die("extract_%u.csv", s->ids.job_id);
}

static void write_series(struct sh5util *s)
{
    _cleanup_free_ char *path = NULL, *to_path = result_path(s);
    _cleanup_close_ int fd = open_input(s, &path);
    struct err err = { .text = "" };
    int out = s->output ? open(to_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
                        : ownfile_create(to_path, 0666);
    FILE *to = out < 0 ? NULL : fdopen(out, "w");
    h5_id file;
    int r;

    if (!to)
        cli_die(CLI_EXIT_FAILED, "%s: %s", to_path, strerror(s->output ? errno : -out));
    file = read_input(s, fd, path);
    if (s->mode == ITEM)
        r = sh5item_write(&s->api, file, &s->ids, &s->which, s->data, to, stdout, &err);
    else
        r = (s->level && strcasecmp(s->level, LEVEL_SAMPLES) == 0 ? sh5csv_write : sh5csv_totals)(
            &s->api, file, &s->ids, &s->which, to, &err);
    if (fclose(to) != 0 && r == 0)
        r = err_set(&err, -errno, "%s: %s", to_path, strerror(errno));
    (void)s->api.f_close(file);
    if (r < 0)
        give_up(to_path, &err);
}

/* ---- main ------------------------------------------------------------------------------------ */

/* The item is a part of the result's name. */
static void check_item(const struct sh5util *s)
{
    if (s->mode == ITEM && !s->series)
        cli_die(CLI_EXIT_FAILED, "--item-extract needs a series: say which with --series");
    if (s->mode == ITEM && !s->data)
        cli_die(CLI_EXIT_FAILED, "--item-extract needs an item of the series: say which with "
                                 "--data; --list prints their names");
    if (s->mode != ITEM && s->data)
        cli_die(CLI_EXIT_FAILED, "--data is the item of --item-extract, which is not given");
    if (s->data && (!s->data[0] || strchr(s->data, '/')))
        cli_die(CLI_EXIT_FAILED, "--data=%.64s is no name of an item", s->data);
}

static void check_options(struct sh5util *s)
{
    struct err err = { .text = "" };

    if (!s->jobs)
        cli_die(CLI_EXIT_FAILED, "say which job with --jobs");
    if (sh5ids_read(s->jobs, &s->ids, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "--jobs: %s", err.text);
    if (s->level && strcasecmp(s->level, LEVEL_SAMPLES) != 0 &&
        strcasecmp(s->level, LEVEL_TOTALS) != 0)
        cli_die(CLI_EXIT_FAILED, "--level=%.64s is none of " LEVEL_SAMPLES ", " LEVEL_TOTALS,
                s->level);
    if (sh5series_read(s->series, &s->which) < 0)
        cli_die(CLI_EXIT_FAILED,
                "--series=%.64s is none of Energy, Filesystem, Network, Task, Task_RANK",
                s->series);
    s->which.node = s->node;
    check_item(s);
}

int main(int argc, char **argv)
{
    struct sh5util s = { .mode = MERGE };
    struct err err = { .text = "" };

    cli_init(&s.cli, "sh5util");
    if (opts_parse(&command, argc, argv, &s) < argc)
        cli_die(CLI_EXIT_FAILED, "options alone are taken; say which job with --jobs");
    check_options(&s);
    (void)setenv("HDF5_USE_FILE_LOCKING", "BEST_EFFORT", 0); /* file systems without locks */
    if (h5_api_load(&s.api, "sh5util", &err) < 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
    if (s.mode == EXTRACT || s.mode == ITEM)
        write_series(&s);
    else if (s.mode == LIST)
        list_items(&s);
    else
        merge_job(&s);
    cli_done(&s.cli);
    return 0;
}
