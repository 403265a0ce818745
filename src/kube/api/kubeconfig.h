/* kubeconfig.h - where the API server is, and who we are there
 *
 * Read from a kubeconfig file or from what a pod is given.  Plain data; kubecred.h makes tokens and
 * certificates of it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define KUBECONFIG_FILE_MAX (1u << 20)

struct kubeconfig {
    char *server;               /* https://host:port, without a slash at its end */
    char *ca_file, *ca_pem;     /* NULL: the system's */
    bool insecure;              /* the server's certificate is not looked at */
    char *tls_name;             /* the name that the certificate must have; NULL: the host's */
    char *proxy;                /* http://, https:// or socks5://; NULL: as the environment says */
    char *cert_file, *key_file; /* NULL: none */
    char *cert_pem, *key_pem;   /* NULL: none */
    char *token, *token_file;   /* NULL: none; the file is read again */
    char *user, *password;      /* NULL: none */
    json_t *exec;               /* command, args, env, apiVersion; NULL: none */
    char *exec_dir;             /* a command with a slash is relative to it */
    char *namespace_;           /* of the context; NULL: none */
};

void kubeconfig_done(struct kubeconfig *c);
/* A kubeconfig's text.  dir: where relative paths begin.  context NULL: current-context.
 * Errors: -EINVAL (err says what), -ENOMEM. */
int kubeconfig_parse(const char *text, size_t len, const char *dir, const char *context,
                     struct kubeconfig *ret, struct err *err);
/* Likewise of a file.  Errors also: those of open(2). */
int kubeconfig_load(const char *path, const char *context, struct kubeconfig *ret, struct err *err);
/* Likewise of several files, "a:b", as KUBECONFIG names them: an entry is that of the first file
 * which has its name, and paths are relative to its file.  Files that are not there are left out.
 * Errors also: -ENOENT none is there. */
int kubeconfig_load_list(const char *list, const char *context, struct kubeconfig *ret,
                         struct err *err);
/* As a pod finds them: dir has token, ca.crt and namespace (NULL: the usual folder).
 * Errors: -ENOENT not in a cluster, -ENOMEM. */
int kubeconfig_in_cluster(const char *dir, const char *host, const char *port,
                          struct kubeconfig *ret, struct err *err);
/* Base64, as kubeconfig and secrets have it; *ret_len does not count the NUL behind.  -EINVAL,
 * -ENOMEM. */
int kubeconfig_base64(const char *text, char **ret, size_t *ret_len);
