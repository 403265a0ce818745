/* doctorask.h - one request to the API server, and its answer: the doctor waits for it
 *
 * One thread: the loop's. */
#pragma once

#include "kube/api/kubeapi.h"

struct doctorask {
    struct kubeloop *loop;
    struct kubeserver *server;
};

struct doctoranswer {
    int status;   /* of HTTP; 0: nobody answered, see kubecall.h */
    json_t *body; /* NULL: none */
    char text[400];
};

/* Ask and wait.  path has been made by kubeapi_path(), or has no words of strangers.  The caller
 * ends with doctoranswer_done().  What could not be asked has status 0, and a text. */
void doctorask_path(struct doctorask *a, const char *method, const char *path, const json_t *body,
                    struct doctoranswer *ret);
/* GET an object, or a collection. */
void doctorask_get(struct doctorask *a, const struct kubeapi_target *t, struct doctoranswer *ret);
void doctoranswer_done(struct doctoranswer *r);
