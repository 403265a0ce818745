/* loginenv.c - what the user's login shell exports on this node; see step.h
 *
 * The shell runs as the user, in the home folder, with next to nothing in its environment, and
 * is told to print what it has after its start-up files ran.  Those may print too: what counts
 * begins behind a line of our own. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "stepd/step.h"

#define MARK "penstock-login-environment"
#define SCRIPT "echo " MARK "; exec /usr/bin/env -0"

/* The shell's own state, not wishes of the user. */
static bool is_shells_own(const char *entry)
{
    static const char *const names[] = { "_=", "SHLVL=", "PWD=", "OLDPWD=" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Close the gaps that the shell's own variables leave; gives the new length. */
static size_t keep_wishes(char *at, size_t len)
{
    size_t to = 0;

    for (size_t i = 0; i < len;) {
        size_t n = strnlen(at + i, len - i);

        if (n < len - i && n > 0 && !is_shells_own(at + i)) {
            memmove(at + to, at + i, n + 1);
            to += n + 1;
        }
        i += n + 1;
    }
    return to;
}

static int run_shell(struct step *s, const char *shell, char **ret_text, size_t *ret_len)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    const char *base = strrchr(shell, '/'), *dir = s->work_dir;
    char name[256];
    char *argv[] = { name, (char *)"-c", (char *)SCRIPT, NULL };
    int r;

    (void)snprintf(name, sizeof(name), "-%s", base ? base + 1 : shell); /* a login shell's */
    envlist_set(&env, "HOME", s->sf->home);
    envlist_set(&env, "SHELL", shell);
    envlist_set(&env, "USER", s->job->user_name);
    envlist_set(&env, "LOGNAME", s->job->user_name);
    envlist_set(&env, "PATH", "/usr/local/bin:/usr/bin:/bin");
    envlist_set(&env, "TERM", "dumb");
    if (s->sf->home)
        s->work_dir = s->sf->home;
    r = taskscript_output(s, shell, argv, -1, &env, ret_text, ret_len);
    s->work_dir = dir;
    return r;
}

static bool load_failed(struct step *s, const char *shell, const char *why)
{
    step_fail(s, "could not load the login environment of user %u with %s: %s", s->uid, shell, why);
    s->launch_failed = s->login_env_failed = true;
    return false;
}

bool loginenv_load(struct step *s)
{
    const char *shell = s->sf->shell && *s->sf->shell ? s->sf->shell : "/bin/sh";
    _cleanup_free_ char *text = NULL;
    char *at, why[64];
    size_t len;
    int r = run_shell(s, shell, &text, &len);

    if (r == -ECANCELED) { /* no fault of the node or the shell */
        step_fail(s, "The job was ended while its login environment was being loaded");
        return false;
    }
    if (r < 0)
        return load_failed(s, shell, strerror(-r));
    at = memmem(text, len, MARK "\n", strlen(MARK "\n"));
    if (r > 0 || !at) {
        (void)snprintf(why, sizeof(why), "it ended with status %d", r);
        return load_failed(s, shell, r > 0 ? why : "it printed no environment");
    }
    at += strlen(MARK "\n");
    len = keep_wishes(at, len - (size_t)(at - text));
    memmove(text, at, len);
    s->login_env = TAKE_PTR(text);
    envlist_load(&s->env, s->login_env, len);
    return true;
}
