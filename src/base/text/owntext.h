/* owntext.h - texts of one's own: copies, and secrets that are wiped before they are freed */
#pragma once

/* *to becomes a copy, the caller's to free; a missing text (NULL) stays missing.
 * -ENOMEM: *to is NULL. */
int copy_text(char **to, const char *text);

/* Overwrites a secret, frees it and sets *text to NULL.  NULL in *text: nothing. */
void wipe_text(char **text);
