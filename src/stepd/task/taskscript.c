/* taskscript.c - how TaskProlog and TaskEpilog run; see step.h
 *
 * They run as the user with the task's environment.  A prolog's lines `export NAME=value`,
 * `unset NAME` and `print text` change the task to come; the step is served while it runs
 * (await.c).  An epilog is a child like a task and is collected by the loop (taskepilog.c). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/step.h"

#define OUTPUT_MAX (256u * 1024u)
#define DEFAULT_TIMEOUT_S 300

/* Its tasks have the limits set; a script of the site reads their values. */
static void add_limits(const struct step *s, struct envlist *env)
{
    Pst__Rlimit *const *limits = s->launch ? s->launch->rlimits : s->job->rlimits;
    size_t n = s->launch ? s->launch->n_rlimits : s->job->n_rlimits;

    for (size_t i = 0; i < n; i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "SLURM_RLIMIT_%s", limits[i]->name);
        envlist_setu(env, name, limits[i]->soft);
    }
}

static int start_script(struct step *s, const char *path, char *const *argv,
                        const struct envlist *task_env, int out_fd, int err_fd, pid_t *ret_pid)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    char *paths[] = { (char *)path, NULL };
    _cleanup_close_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct child c = {
        .step = s,
        .paths = paths,
        .argv = argv ? argv : paths,
        .fds = { null_fd, out_fd >= 0 ? out_fd : null_fd, err_fd >= 0 ? err_fd : null_fd },
        .tty = -1,
        .any_dir = true,
    };

    envlist_borrow(&env, task_env);
    add_limits(s, &env);
    c.envp = envlist_array(&env);
    if (null_fd < 0 || !c.envp)
        return -ENOMEM;
    return child_start(&c, ret_pid);
}

/* The last line of a prolog may have no end: then it is printed without. */
static void print_line(const struct step *s, int fd, const char *text, bool ended)
{
    char *line;
    int len = asprintf(&line, "%s%s", text, ended ? "\n" : "");

    if (len < 0)
        return; /* without memory the line is lost */
    output_tell(s, fd, line, (size_t)len);
    free(line);
}

/* What follows the word and blanks; NULL: the line begins with something else. */
static char *skip_word(char *line, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(line, word, len) != 0 || line[len] != ' ')
        return NULL;
    return line + len + strspn(line + len, " ");
}

static void apply_line(const struct step *s, struct envlist *env, char *line, int print_fd,
                       bool ended)
{
    char *eq, *rest;

    if ((rest = skip_word(line, "export"))) {
        line = rest;
        eq = strchr(line, '=');
        if (!eq || eq == line)
            return;
        *eq = '\0';
        envlist_set(env, line, eq + 1);
    } else if ((rest = skip_word(line, "unset"))) {
        envlist_unset(env, rest);
    } else if ((rest = skip_word(line, "print")) && print_fd >= 0) {
        print_line(s, print_fd, rest, ended);
    }
}

/* Read fd to its end or until the deadline; NUL-terminated. */
static int collect_output(struct step *s, int fd, int64_t deadline_mono, char **ret_text,
                          size_t *ret_len)
{
    _cleanup_free_ char *buf = malloc(OUTPUT_MAX + 1);
    size_t len = 0;

    if (!buf)
        return -ENOMEM;
    for (;;) {
        int r = await_fd(s, fd, deadline_mono);
        ssize_t n;

        if (r < 0)
            return r;
        n = read(fd, buf + len, OUTPUT_MAX - len);
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    buf[len] = '\0';
    *ret_text = TAKE_PTR(buf);
    *ret_len = len;
    return 0;
}

int taskscript_output(struct step *s, const char *path, char *const *argv, int err_fd,
                      const struct envlist *env, char **ret_text, size_t *ret_len)
{
    uint32_t limit_s = s->sf->has_script_timeout_s ? s->sf->script_timeout_s : DEFAULT_TIMEOUT_S;
    int64_t deadline = now_mono_us() + (int64_t)limit_s * USEC_PER_SEC;
    _cleanup_close_ int rd = -1, wr = -1;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    int p[2], status, r;
    pid_t pid;

    if (pipe2(p, O_CLOEXEC) < 0)
        return -errno;
    rd = p[0];
    wr = p[1];
    r = start_script(s, path, argv, env, wr, err_fd, &pid);
    if (r < 0)
        return r;
    (void)close(TAKE_FD(wr)); /* so that its end is seen */
    await_begin(s, pid);
    r = collect_output(s, rd, deadline, &text, &len);
    if (r == 0)
        r = await_fd(s, -1, deadline);
    status = await_end(s);
    if (r < 0)
        return r;
    *ret_text = TAKE_PTR(text);
    *ret_len = len;
    return WIFEXITED(status) ? WEXITSTATUS(status) : SCRIPT_SIGNALLED + WTERMSIG(status);
}

int taskscript_prolog(struct step *s, const char *path, struct envlist *env, int print_fd)
{
    _cleanup_free_ char *text = NULL;
    char *save = NULL;
    size_t len;
    int r;

    envlist_set(env, "SLURM_SCRIPT_CONTEXT", "prolog_task");
    r = taskscript_output(s, path, NULL, -1, env, &text, &len); /* its lines alone are for users */
    if (r < 0)
        return r;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        apply_line(s, env, line, print_fd, line + strlen(line) < text + len);
    return r;
}

int taskscript_epilog(struct step *s, const char *path, struct envlist *env, int err_fd,
                      pid_t *ret_pid)
{
    envlist_set(env, "SLURM_SCRIPT_CONTEXT", "epilog_task");
    return start_script(s, path, NULL, env, -1, err_fd, ret_pid);
}
