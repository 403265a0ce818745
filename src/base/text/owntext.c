/* owntext.c - see owntext.h */
#include "base/text/owntext.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int copy_text(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return text && !*to ? -ENOMEM : 0;
}

void wipe_text(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}
