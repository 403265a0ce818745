/* httphealth.h - health over HTTP of a daemon that serves nothing else there: /livez, /healthz,
 * /readyz and the index */
#pragma once

#include "http/httpaccess.h"

/* Alive: 204.  For tables of others. */
http_answer_fn httphealth_alive;
extern const char httphealth_live_words[],
    httphealth_ready_words[]; /* formats: the daemon's name */

struct httphealth;
struct httphealth_config {
    const char *name; /* "slurmd"; borrowed */
    /* Does the daemon serve?  On the thread of HTTP; lines of what it looked at go to `told`. */
    bool (*ready)(void *ctx, struct strbuf *told);
    void *ctx;
};

int httphealth_new(const struct httphealth_config *config, struct httphealth **ret,
                   struct err *err);
void httphealth_set(struct httphealth *h, struct auth_tokens *tokens, uid_t slurm_uid);
void httphealth_switch(struct httphealth *h, bool on);    /* as http_switch() */
void httphealth_take(struct httphealth *h, int fd);       /* as http_take() */
struct httphealth *httphealth_free(struct httphealth *h); /* always NULL */
