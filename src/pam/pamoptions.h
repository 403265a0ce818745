/* pamoptions.h - the arguments of pam_slurm_adopt in a PAM service file */
#pragma once

#include <stdbool.h>

enum pam_action {
    PAM_ACT_IGNORE, /* as if the module were not there */
    PAM_ACT_ALLOW,
    PAM_ACT_DENY,
    PAM_ACT_NEWEST, /* of several jobs the one that started last */
};

struct pam_options {
    enum pam_action no_jobs;         /* the user has no job here: deny */
    enum pam_action unknown;         /* the user has several jobs here: newest */
    enum pam_action adopt_failure;   /* the job does not take the process: allow */
    enum pam_action generic_failure; /* something else went wrong: ignore */
    bool disable_x11;
    bool join_container;
    int log_level;        /* syslog's: less important messages are not logged */
    const char *nodename; /* NULL: the host's name; borrowed from argv, as the next */
    const char *service;  /* "sshd"; "*" = any */
};

/* Set the defaults, then apply each argument of the module.  An argument that is not understood is
 * passed to bad() and otherwise ignored. */
void pam_options_parse(int argc, const char **argv, void (*bad)(void *ctx, const char *arg),
                       void *ctx, struct pam_options *ret);
