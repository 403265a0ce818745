/* httpaccess.c - who asks: the token that a request carries */
#include "http/httpaccess.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define BEARER "Bearer "
#define PASSWD_BYTES 16384u

struct httpaccess {
    pthread_mutex_t lock;
    struct auth_tokens *tokens; /* NULL: no token is taken */
    uid_t slurm_uid;
};

DEFINE_CLEANUP(struct auth_tokens *, auth_tokens_free)

int httpaccess_new(struct httpaccess **ret)
{
    struct httpaccess *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    *ret = a;
    return 0;
}

struct httpaccess *httpaccess_free(struct httpaccess *a)
{
    if (!a)
        return NULL;
    (void)auth_tokens_free(a->tokens); /* always NULL */
    pthread_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

void httpaccess_set(struct httpaccess *a, struct auth_tokens *tokens, uid_t slurm_uid)
{
    struct auth_tokens *old;

    pthread_mutex_lock(&a->lock);
    old = a->tokens;
    a->tokens = tokens ? auth_tokens_ref(tokens) : NULL;
    a->slurm_uid = slurm_uid;
    pthread_mutex_unlock(&a->lock);
    (void)auth_tokens_free(old); /* always NULL */
}

static struct auth_tokens *hold_tokens(struct httpaccess *a, uid_t *ret_slurm_uid)
{
    struct auth_tokens *tokens;

    pthread_mutex_lock(&a->lock);
    tokens = a->tokens ? auth_tokens_ref(a->tokens) : NULL;
    *ret_slurm_uid = a->slurm_uid;
    pthread_mutex_unlock(&a->lock);
    return tokens;
}

static const char *token_of(const struct http_request *r)
{
    const char *token = http_request_header(r, "X-SLURM-USER-TOKEN");
    const char *bearer = http_request_header(r, "Authorization");

    if (token)
        return token;
    return bearer && strncasecmp(bearer, BEARER, strlen(BEARER)) == 0 ? bearer + strlen(BEARER)
                                                                      : NULL;
}

static bool names_uid(const char *user, uid_t uid)
{
    char bytes[PASSWD_BYTES];
    struct passwd pw, *found = NULL;

    return getpwuid_r(uid, &pw, bytes, sizeof(bytes), &found) == 0 && found &&
           strcmp(found->pw_name, user) == 0;
}

static bool is_admin(const char *user, uid_t slurm_uid)
{
    return strcmp(user, "root") == 0 || names_uid(user, slurm_uid);
}

bool httpaccess_is_admin(struct httpaccess *a, const char *user)
{
    uid_t slurm_uid;

    (void)auth_tokens_free(hold_tokens(a, &slurm_uid)); /* always NULL */
    return is_admin(user, slurm_uid);
}

/* The one to act for may be another than the one the token speaks for. */
static unsigned choose_user(const struct http_request *r, uid_t slurm_uid, char **user,
                            struct err *err)
{
    const char *name = http_request_header(r, "X-SLURM-USER-NAME");
    char *copy;

    if (!name || !name[0] || strcmp(name, *user) == 0)
        return 0;
    if (!is_admin(*user, slurm_uid)) {
        (void)err_set(err, -EACCES, "The token speaks for another user than X-SLURM-USER-NAME");
        return HTTP_UNAUTHORIZED;
    }
    copy = strdup(name);
    if (!copy)
        return HTTP_UNAUTHORIZED;
    free(*user);
    *user = copy;
    return 0;
}

unsigned httpaccess_user(struct httpaccess *a, const struct http_request *r, char **ret_user,
                         struct err *err)
{
    uid_t slurm_uid;
    _cleanup_(auth_tokens_free) struct auth_tokens *tokens = hold_tokens(a, &slurm_uid);
    struct jwt_user said = { .name = NULL };
    _cleanup_free_ char *user = NULL;
    const char *token = token_of(r);

    if (!token)
        (void)err_set(err, -EACCES, "Authentication is required: send a token");
    else if (!tokens)
        (void)err_set(err, -EACCES, "Tokens are not taken here: AuthAltTypes lacks auth/jwt");
    if (!token || !tokens ||
        auth_tokens_verify(tokens, token, strlen(token), now_us(), &said, err) < 0)
        return HTTP_UNAUTHORIZED;
    user = said.name;
    /* An issuer elsewhere, who numbers its users, may have one of this name. */
    if (said.has_ids && is_admin(user, slurm_uid) && said.uid != 0 && said.uid != slurm_uid) {
        (void)err_set(err, -EACCES, "The token gives another user the name of an administrator");
        return HTTP_UNAUTHORIZED;
    }
    if (choose_user(r, slurm_uid, &user, err))
        return HTTP_UNAUTHORIZED;
    *ret_user = TAKE_PTR(user);
    return 0;
}

unsigned httpaccess_admin(struct httpaccess *a, const struct http_request *r, struct err *err)
{
    _cleanup_free_ char *user = NULL;
    unsigned refused = httpaccess_user(a, r, &user, err);

    if (refused)
        return refused;
    if (httpaccess_is_admin(a, user))
        return 0;
    (void)err_set(err, -EACCES, "Only root and SlurmUser may ask for this");
    return HTTP_FORBIDDEN;
}
