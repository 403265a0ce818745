/* httphealth.h - health over HTTP of a daemon that serves little else there: /livez, /healthz,
 * /readyz, the index, and its configuration */
#pragma once

#include "http/httpaccess.h"

/* The row of a configuration, but for who answers: for tables of others too. */
#define HTTPHEALTH_CONF                                                                            \
    .path = "/v0.0.45/conf", .shown = "/{data_parser}/conf", .listed = "/",                        \
    .words = "dump slurm configuration\n     ({data_parser} is the version)",                      \
    .type = "application/json"
/* Alive: 204.  For tables of others. */
http_answer_fn httphealth_alive;

struct httphealth;
struct httphealth_config {
    const char *name; /* "slurmd"; borrowed */
    /* Does the daemon serve?  On the thread of HTTP; lines of what it looked at go to `told`. */
    bool (*ready)(void *ctx, struct strbuf *told);
    void *ctx;
    bool has_conf; /* serves its configuration: httphealth_show() */
};

int httphealth_new(const struct httphealth_config *config, struct httphealth **ret,
                   struct err *err);
void httphealth_set(struct httphealth *h, struct auth_tokens *tokens, uid_t slurm_uid);
/* What HTTPHEALTH_CONF answers to users by token: JSON, copied; NULL: nothing.  Any thread. */
void httphealth_show(struct httphealth *h, const char *json);
void httphealth_switch(struct httphealth *h, bool on);    /* as http_switch() */
void httphealth_take(struct httphealth *h, int fd);       /* as http_take() */
struct httphealth *httphealth_free(struct httphealth *h); /* always NULL */
