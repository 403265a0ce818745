/* pamsession.c - UsePAM; see pamsession.h */
#include "stepd/plug/pamsession.h"

#include <dlfcn.h>
#include <errno.h>
#include <security/pam_appl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"

struct pam_api {
    typeof(pam_start) *start;
    typeof(pam_end) *end;
    typeof(pam_set_item) *set_item;
    typeof(pam_setcred) *setcred;
    typeof(pam_open_session) *open_session;
    typeof(pam_close_session) *close_session;
    typeof(pam_strerror) *strerror;
};

struct pamsession {
    struct pam_api api;
    struct pam_conv conv;
    pam_handle_t *handle;
};

/* Nobody is there to answer a question. */
static int refuse_question(int n, const struct pam_message **msg, struct pam_response **resp,
                           void *ctx)
{
    (void)n;
    (void)msg;
    (void)resp;
    (void)ctx;
    return PAM_CONV_ERR;
}

static int load_pam(struct pam_api *api, struct err *err)
{
    const struct loadlib_symbol symbols[] = {
        { "pam_start", &api->start },
        { "pam_end", &api->end },
        { "pam_set_item", &api->set_item },
        { "pam_setcred", &api->setcred },
        { "pam_open_session", &api->open_session },
        { "pam_close_session", &api->close_session },
        { "pam_strerror", &api->strerror },
    };

    /* its modules look for the library's names in what is loaded */
    return loadlib("UsePAM", "libpam.so.0", "libpam0g", RTLD_GLOBAL, symbols, ARRAY_SIZE(symbols),
                   err);
}

static int set_items(struct pamsession *p, const char *user, const char *host)
{
    int rc = p->api.set_item(p->handle, PAM_RUSER, user);

    if (rc == PAM_SUCCESS)
        rc = p->api.set_item(p->handle, PAM_RHOST, host);
    return rc == PAM_SUCCESS ? p->api.set_item(p->handle, PAM_TTY, "slurm") : rc;
}

static int begin_session(struct pamsession *p)
{
    int rc = p->api.setcred(p->handle, PAM_ESTABLISH_CRED | PAM_SILENT);

    if (rc != PAM_SUCCESS)
        return rc;
    rc = p->api.open_session(p->handle, PAM_SILENT);
    if (rc != PAM_SUCCESS)
        (void)p->api.setcred(p->handle, PAM_DELETE_CRED | PAM_SILENT); /* it refuses all the same */
    return rc;
}

int pamsession_open(const char *user, const char *host, struct pamsession **ret, struct err *err)
{
    _cleanup_free_ struct pamsession *p = calloc(1, sizeof(*p));
    int rc, r;

    if (!p)
        return err_nomem(err);
    r = load_pam(&p->api, err);
    if (r < 0)
        return r;
    p->conv.conv = refuse_question;
    rc = p->api.start("slurm", user, &p->conv, &p->handle);
    if (rc == PAM_SUCCESS)
        rc = set_items(p, user, host);
    if (rc == PAM_SUCCESS)
        rc = begin_session(p);
    if (rc != PAM_SUCCESS) {
        r = err_set(err, -EACCES, "UsePAM: the session of %s in PAM's service slurm is refused: %s",
                    user, p->api.strerror(p->handle, rc));
        if (p->handle)
            (void)p->api.end(p->handle, rc); /* nothing is left of it */
        return r;
    }
    *ret = TAKE_PTR(p);
    return 0;
}

struct pamsession *pamsession_close(struct pamsession *p)
{
    int rc;

    if (!p)
        return NULL;
    (void)p->api.setcred(p->handle, PAM_DELETE_CRED | PAM_SILENT); /* told, and too late for more */
    rc = p->api.close_session(p->handle, PAM_SILENT);
    (void)p->api.end(p->handle, rc);
    free(p);
    return NULL;
}
