/* nsstext.h - what a step daemon tells of its job's user, as libnss_slurm.so.2 reads it
 *
 *   penstock-nss 1
 *   NAME:UID:GID:GECOS:HOME:SHELL
 *   GROUP:GID                          a line for each of his groups
 *
 * Pure functions that need no other library than libc and allocate nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSSTEXT_MAX 61440u
#define NSSTEXT_HEAD "penstock-nss 1\n"
#define NSSTEXT_NAME_MAX 255u

struct nss_user {
    const char *name, *gecos, *home, *shell;
    uint32_t uid, gid;
    const char *groups, *end; /* for nsstext_group() */
};

struct nss_group {
    const char *name;
    uint32_t gid;
};

/* Take the text apart in place; text[len] is writable, too.  What *ret points at is part of it.
 * False: it is no such text, has more than NSSTEXT_MAX bytes, or tells of root. */
bool nsstext_parse(char *text, size_t len, struct nss_user *ret);
/* The next group; *at is u->groups at first.  False: there is none left. */
bool nsstext_group(const struct nss_user *u, const char **at, struct nss_group *ret);
/* May this be the name of a user or group?  1 to NSSTEXT_NAME_MAX bytes without blanks, control
 * characters and what separates fields and lists. */
bool nsstext_name(const char *name);
/* A number of at most 32 bits, without the one that means "none". */
bool nsstext_number(const char *text, uint32_t *ret);
