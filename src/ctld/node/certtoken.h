/* certtoken.h - what an administrator says a node has to show for its first certificate
 *
 * `scontrol update|create NodeName= CertToken=`: kept as a salted SHA-256, so that neither the
 * journal nor an answer has it.  Pure, but for the salt. */
#pragma once

#include <stdbool.h>

#define CERTTOKEN_SIZE 112u /* salt, digest, a colon and the end */

/* A token is a line of 1 to 1024 characters, and no option of a program. */
bool certtoken_is_sound(const char *token);
/* Take "CertToken=..." out of a NodeName line, which is changed in place: what is logged and
 * answered of the line has it not.  1 with *ret_token (caller frees); 0: there is none.  -EINVAL:
 * it is not sound, or is there twice.  -ENOMEM. */
int certtoken_take(char *line, char **ret_token);
/* What to keep of a token.  -errno: no random numbers, no memory. */
int certtoken_seal(const char *token, char ret_sealed[CERTTOKEN_SIZE]);
/* Is this the token that was sealed? */
bool certtoken_fits(const char *sealed, const char *token);
