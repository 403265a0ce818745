/* mklogin.h - the objects of a LoginSet: sshd, SSSD and sackd in pods, a Service, host keys
 *
 * Pure.  The pods are an image with sshd, sssd and sackd: it starts them, and gives sackd the words
 * of SACKD_OPTIONS. */
#pragma once

#include "kube/make/mkbase.h"

/* What sshd's configuration and host keys are called. */
void mklogin_names(const json_t *loginset, char config[static 300], char keys[static 300]);
/* An array: configuration of sshd, Service, Deployment (the last one).  f->controller is there.
 * Errors: -ENOMEM. */
int mklogin_objects(const struct mkbase_facts *f, json_t **ret);
/* The Secret of host keys, which never changes; data is taken.  NULL: no memory. */
json_t *mklogin_keys(const struct mkbase_facts *f, json_t *data);
/* Has a Secret every file of host keys?  What is missing would be mounted as a folder. */
bool mklogin_keys_are_whole(const json_t *secret);
