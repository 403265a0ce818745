/* kubecred.c - see kubecred.h */
#include "kube/api/kubecred.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/owntext.h"
#include "base/process/spawnprog.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"

#define TOKEN_MAX (64u << 10)
#define ANSWER_MAX (256u << 10)
#define FILE_AGE_US (INT64_C(60) * USEC_PER_SEC)
#define MARGIN_US (INT64_C(30) * USEC_PER_SEC) /* a plugin is asked so long before the end */
#define ARGS_MAX 64u

extern char **environ;

struct kubecred {
    const struct kubeconfig *config;
    char *token, *cert, *key;
    int64_t until_us; /* they are good so long; 0: not made yet */
};

int kubecred_new(const struct kubeconfig *config, struct kubecred **ret)
{
    struct kubecred *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->config = config;
    *ret = c;
    return 0;
}

void kubecred_forget(struct kubecred *c)
{
    c->until_us = 0;
}

struct kubecred *kubecred_free(struct kubecred *c)
{
    if (!c)
        return NULL;
    wipe_text(&c->token);
    wipe_text(&c->cert);
    wipe_text(&c->key);
    free(c);
    return NULL;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static int read_token_file(struct kubecred *c, int64_t now, struct err *err)
{
    char *text = NULL;
    size_t len;
    int r = readfile(c->config->token_file, TOKEN_MAX, &text, &len);

    if (r < 0)
        return err_set(err, r, "%.200s: %s", c->config->token_file, strerror(-r));
    while (len && strchr(" \t\r\n", text[len - 1]))
        text[--len] = '\0';
    if (!len || text[strcspn(text, "\r\n")]) {
        free(text);
        return err_set(err, -EINVAL, "%.200s holds no token", c->config->token_file);
    }
    wipe_text(&c->token);
    c->token = text;
    c->until_us = now + FILE_AGE_US;
    return 0;
}

/* ---- an exec plugin -------------------------------------------------------------------------- */

int kubecred_read_exec(const char *text, size_t len, char **ret_token, char **ret_cert,
                       char **ret_key, int64_t *ret_until_us, struct err *err)
{
    _cleanup_json_ json_t *answer = NULL;
    const char *token, *cert, *key, *until;
    int r = kubejson_parse(text, len, &answer, err);

    if (r < 0)
        return r;
    token = kubejson_text(answer, "status.token");
    cert = kubejson_text(answer, "status.clientCertificateData");
    key = kubejson_text(answer, "status.clientKeyData");
    until = kubejson_text(answer, "status.expirationTimestamp");
    if (strcmp(kubejson_text(answer, "kind"), "ExecCredential") != 0)
        return err_set(err, -EINVAL, "the answer is no ExecCredential");
    if ((!*token && !*cert) || !*cert != !*key || token[strcspn(token, "\r\n")])
        return err_set(err, -EINVAL, "the answer has neither a token nor a certificate with key");
    *ret_until_us = INT64_MAX;
    if (*until && kubejson_read_stamp(until, ret_until_us) < 0)
        return err_set(err, -EINVAL, "%.40s is no time", until);
    *ret_token = *token ? strdup(token) : NULL;
    *ret_cert = *cert ? strdup(cert) : NULL;
    *ret_key = *key ? strdup(key) : NULL;
    return 0;
}

/* The program's whole path: beside the kubeconfig, or found in PATH. */
static int find_program(const struct kubeconfig *config, char **ret, struct err *err)
{
    const char *name = kubejson_text(config->exec, "command"), *path = getenv("PATH");
    struct strbuf full = STRBUF_INIT;

    if (strchr(name, '/')) {
        strbuf_addf(&full, "%s%s%s", *name == '/' ? "" : config->exec_dir, *name == '/' ? "" : "/",
                    name);
        return strbuf_detach(&full, ret) < 0 ? err_nomem(err) : 0;
    }
    for (path = path ? path : "/usr/bin:/bin"; *path;) {
        size_t n = strcspn(path, ":");

        strbuf_reset(&full);
        strbuf_addf(&full, "%.*s/%s", (int)n, path, name);
        if (n && access(strbuf_str(&full), X_OK) == 0)
            return strbuf_detach(&full, ret) < 0 ? err_nomem(err) : 0;
        path += n + (path[n] == ':');
    }
    strbuf_done(&full);
    return err_set(err, -ENOENT, "the program %.100s of the user's exec is not there", name);
}

/* Our variables, those of the entry, and what we are about. */
static int make_environment(const struct kubeconfig *config, struct strbuf *info, char ***ret)
{
    const json_t *more = json_object_get(config->exec, "env");
    const char *version = kubejson_text(config->exec, "apiVersion");
    size_t n = 0, i;
    json_t *one;
    char **envp;

    while (environ[n])
        n++;
    envp = calloc(n + json_array_size(more) + 2, sizeof(*envp));
    if (!envp)
        return -ENOMEM;
    for (i = 0; i < n; i++)
        envp[i] = strdup(environ[i]);
    json_array_foreach(more, i, one)
    {
        struct strbuf text = STRBUF_INIT;

        strbuf_addf(&text, "%s=%s", kubejson_text(one, "name"), kubejson_text(one, "value"));
        if (strbuf_detach(&text, &envp[n]) == 0)
            n++;
    }
    strbuf_addf(info,
                "KUBERNETES_EXEC_INFO={\"apiVersion\":\"%s\",\"kind\":\"ExecCredential\","
                "\"spec\":{\"interactive\":false}}",
                *version && !strpbrk(version, "\"\\") ? version
                                                      : "client.authentication.k8s.io/v1");
    envp[n] = strdup(strbuf_str(info));
    *ret = envp;
    return 0;
}

static void free_texts(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

/* What the program writes until it closes its output; -ETIMEDOUT. */
static int read_answer(int fd, int64_t end, struct strbuf *out)
{
    for (;;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int64_t left = (end - now_mono_us()) / 1000;
        char buf[4096];
        ssize_t n;

        if (left <= 0 || poll(&p, 1, (int)left) == 0)
            return -ETIMEDOUT;
        n = read(fd, buf, sizeof(buf));
        if (n == 0)
            return out->failed ? -ENOMEM : 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            strbuf_addn(out, buf, (size_t)n);
        if (out->len > ANSWER_MAX)
            return -EFBIG;
    }
}

/* A program that has closed its output may stay: it is ended at the same time as a silent one. */
static void await_end(pid_t pid, int64_t end)
{
    _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0u);
    int64_t left = (end - now_mono_us()) / 1000;
    struct pollfd p = { .fd = fd, .events = POLLIN };

    if (fd < 0 || left <= 0 || poll(&p, 1, (int)left) != 1)
        (void)kill(pid, SIGKILL); /* it may have ended by itself */
}

static int run_program(const char *path, char **argv, char **envp, struct strbuf *out)
{
    _cleanup_close_ int in = -1, to = -1;
    int64_t end = now_mono_us() + KUBECRED_EXEC_MS * INT64_C(1000);
    int ends[2], fds[2], status = 0, r;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    in = ends[0];
    to = ends[1];
    fds[0] = -1;
    fds[1] = to;
    r = spawn_program(&(struct spawn){ path, argv, envp, NULL, fds, 2 }, &pid);
    if (r < 0)
        return r;
    (void)close(TAKE_FD(to)); /* the program has it */
    r = read_answer(in, end, out);
    await_end(pid, r < 0 ? 0 : end);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (r == 0 && status != 0)
        r = -ECHILD;
    return r;
}

static int ask_program(struct kubecred *c, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT, info = STRBUF_INIT;
    const json_t *args = json_object_get(c->config->exec, "args");
    char *argv[ARGS_MAX + 2] = { 0 }, **envp = NULL, *token, *cert, *key;
    _cleanup_free_ char *path = NULL;
    int64_t until;
    int r = find_program(c->config, &path, err);

    if (r < 0)
        return r;
    argv[0] = path;
    for (size_t i = 0; i < json_array_size(args) && i < ARGS_MAX; i++) {
        const char *text = json_string_value(json_array_get(args, i));

        argv[i + 1] = (char *)(uintptr_t)(text ? text : ""); /* only read */
    }
    r = make_environment(c->config, &info, &envp);
    if (r == 0)
        r = run_program(path, argv, envp, &out);
    free_texts(envp);
    if (r < 0)
        return err_set(err, r, "%.200s: %s", path, r == -ECHILD ? "it failed" : strerror(-r));
    r = kubecred_read_exec(strbuf_str(&out), out.len, &token, &cert, &key, &until, err);
    explicit_bzero(out.buf, out.len);
    if (r < 0) {
        err_prefix(err, "%.200s: ", path);
        return r;
    }
    wipe_text(&c->token);
    wipe_text(&c->cert);
    wipe_text(&c->key);
    c->token = token;
    c->cert = cert;
    c->key = key;
    c->until_us = until == INT64_MAX ? until : until - MARGIN_US;
    return 0;
}

int kubecred_get(struct kubecred *c, int64_t now, const char **ret_token, const char **ret_cert_pem,
                 const char **ret_key_pem, struct err *err)
{
    const struct kubeconfig *config = c->config;
    int r = 0;

    if (config->exec && now >= c->until_us)
        r = ask_program(c, err);
    else if (!config->exec && config->token_file && now >= c->until_us)
        r = read_token_file(c, now, err);
    if (r < 0)
        return r;
    *ret_token = c->token ? c->token : config->token;
    *ret_cert_pem = c->cert ? c->cert : config->cert_pem;
    *ret_key_pem = c->key ? c->key : config->key_pem;
    return 0;
}
